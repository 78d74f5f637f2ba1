"""What the metrics of a run say about its health: when to warn and when to stop.

Everything is read off `metrics.jsonl`, so that a resumed run warns as an unbroken one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agrae_jax.errors import DATA, DIVERGED, UserError

Values = Mapping[str, Any]
# Any of these that is not a number means that the policy or its gradient is broken.
_MUST_BE_FINITE = ("loss", "grad_norm", "update_norm", "entropy", "sampler_diff")
MOST_SKIPPED = 5  # steps in a row whose update was skipped before the run stops
_FLAT = 5  # steps in a row without a signal that are worth a word
_COLLAPSED = 0.02  # share of the first step's entropy

# name -> (is a step so?, steps in a row that are too many, what to look at)
_SIGNS: dict[str, tuple[Callable[[Values, Values], bool], int, str]] = {
    "all groups have equal rewards, so nothing is learned": (
        lambda now, first: now.get("dead_groups") == 1.0,
        _FLAT,
        "look at pass_rate/* in metrics.jsonl: all right wants harder problems; all"
        " wrong wants easier ones, another data.template, or a look at golds and"
        " answers in rollouts/",
    ),
    "every completion was cut off": (
        lambda now, first: now.get("truncated") == 1.0,
        1,
        "look at the ends of completions in rollouts/: raise rollout.max_new_tokens, or"
        " the template does not lead the model to its end token",
    ),
    "every completion is empty": (
        lambda now, first: now.get("length") == 1.0 and now.get("truncated") == 0.0,
        1,
        "the model ends at once: look at data.template and the tokenizer's end token",
    ),
    "the entropy has collapsed": (
        lambda now, first: (
            first.get("entropy") is not None
            and now.get("entropy") is not None
            and now["entropy"] < _COLLAPSED * first["entropy"]
        ),
        3,
        "look at entropy in metrics.jsonl and at repeated completions in rollouts/:"
        " lower optim.learning_rate, raise loss.clip_high, or set loss.entropy_coef",
    ),
}


class Health:
    """Counts steps in a row that look ill; `logged` are the steps before a resume."""

    def __init__(self, logged: Iterable[Values] = ()):
        self._first: Values | None = None
        self._row = dict.fromkeys(_SIGNS, 0)
        self._skipped = 0
        for values in logged:
            self.warnings(values)
            self._count_skipped(values)

    def warnings(self, values: Values) -> list[str]:
        """Lines worth saying after a step: when a row gets long, and as it doubles."""
        self._first = values if self._first is None else self._first
        found = []
        for name, (ill, limit, look_at) in _SIGNS.items():
            self._row[name] = self._row[name] + 1 if ill(values, self._first) else 0
            rows, odd = divmod(self._row[name], limit)
            if not odd and rows and rows & (rows - 1) == 0:
                steps = "step" if self._row[name] == 1 else "steps"
                found.append(f"{name} for {self._row[name]} {steps}: {look_at}")
        return found

    def check_finite(self, values: Values, step: int, *, skip: bool) -> str:
        """Returns a warning ("" for none) where a step is not finite, or raises.

        With `skip` its update was left out and the run goes on, up to MOST_SKIPPED in
        a row; else it stops. To be called before the step's checkpoint is saved, so
        that the last one stays good. Raises UserError with exit code DIVERGED.
        """
        wrong = not_finite(values)
        self._count_skipped(values)
        if not wrong:
            return ""
        where = f"step {step}: {wrong[0]} is {values[wrong[0]]}"
        if skip and self._skipped <= MOST_SKIPPED:
            return f"{where}: its update is skipped (updates.on_nan), its batch kept"
        many = f" for {self._skipped} steps in a row" if skip else ""
        raise UserError(
            f"{where}{many}: the run diverged. Its batch is in faults/, the last"
            " checkpoint is from before; lower optim.learning_rate, or look at the"
            f" step again: python -m agrae_jax.replay --workdir=RUN --step={step}",
            exit_code=DIVERGED,
        )

    def _count_skipped(self, values: Values) -> None:
        self._skipped = self._skipped + 1 if not_finite(values) else 0


def not_finite(values: Values) -> list[str]:
    """Names of the metrics that are no number and must be one."""
    found = ((name, values.get(name)) for name in _MUST_BE_FINITE)
    return [name for name, x in found if x is not None and not math.isfinite(x)]


def check_ungradable(values: Values, step: int, limit: float) -> None:
    """Raises UserError where too much of a step could not be graded to train on."""
    share = values["ungradable"] or 0.0
    if share > limit:
        raise UserError(
            f"step {step}: {share:.0%} of the completions could not be graded, over"
            f" verify.max_ungradable={limit}; the reasons are in"
            " verify/ungradable.jsonl (golds that do not parse, or verify.deadline_s"
            " too short)",
            exit_code=DATA,
        )
