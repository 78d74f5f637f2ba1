"""Two evaluations on the same problems: paired differences, intervals, p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agrae_jax.errors import UserError
from agrae_jax.evaluation.others import pooled, questions
from agrae_jax.evaluation.summary import Record, pass_table
from agrae_jax.rl.intervals import bootstrap_difference, holm, paired_t, sign_flip


def differences(
    before: Sequence[Sequence[Record]], after: Sequence[Sequence[Record]]
) -> dict[str, dict[str, Any]]:
    """after - before of pass@k, {k: {..}}; each holds the records of some runs.

    `mean`, `low`, `high`: over questions, of pass@k averaged over runs. `p_questions`:
    sign flips over questions. With two runs or more, `t`, `df`, `p_runs`: a paired t
    over runs, the i-th with the i-th. `.._holm` are adjusted for the number of k.
    Raises UserError where the problems differ.
    """
    first = questions(before[0])
    if any(questions(records) != first for records in [*before, *after]):
        raise UserError("the two evaluations do not hold the same problems")
    old, new = ([_table(records) for records in runs] for runs in (before, after))
    ks = [k for k in old[0] if all(k in table for table in [*old, *new])]
    out: dict[str, dict[str, Any]] = {}
    for k in ks:
        a, b = (np.array([table[k] for table in side]) for side in (old, new))
        lost = np.isnan(a).any(0) | np.isnan(b).any(0)  # nothing gradable in one
        a, b = a[:, ~lost], b[:, ~lost]
        mean, low, high = bootstrap_difference(b.mean(0), a.mean(0))
        out[k] = {"mean": mean, "low": low, "high": high, "questions": a.shape[1]}
        out[k]["p_questions"] = sign_flip(b.mean(0), a.mean(0))
        runs = min(len(a), len(b))
        if runs > 1:
            t = paired_t(b[:runs].mean(1), a[:runs].mean(1))
            # pairs that all differ alike have no spread to test by
            tested = (None, None) if math.isnan(t.p) else (t.t, t.p)
            out[k] |= {"runs": runs, "df": t.df, "t": tested[0], "p_runs": tested[1]}
    for name in ("p_questions", "p_runs"):
        if out and all(name in row for row in out.values()):
            given = [row[name] for row in out.values()]
            adjusted = holm([math.nan if p is None else p for p in given]).tolist()
            for row, p in zip(out.values(), adjusted, strict=True):
                row[f"{name}_holm"] = None if math.isnan(p) else p
    return out


def matched(
    there: Sequence[Sequence[Sequence[Record]]],
    here: Sequence[Sequence[Sequence[Record]]],
) -> tuple[list[list[Record]], list[list[Record]]]:
    """What is paired over runs, the i-th with the i-th: (before, after).

    A side is a list of runs, a run a list of evaluations that differ in their noise.
    One run a side: its evaluations are the pairs. More: runs are, and the evaluations
    of a run are pooled, for they share all that training drew.
    """
    if len(there) == len(here) == 1:
        return [list(r) for r in there[0]], [list(r) for r in here[0]]
    return [pooled(run) for run in there], [pooled(run) for run in here]


def compare(
    before: Sequence[Record], after: Sequence[Record]
) -> dict[str, dict[str, Any]]:
    """`differences` of one run each."""
    return differences([before], [after])


def _table(records: Sequence[Record]) -> dict[str, np.ndarray]:
    """pass@k of all problems, not a number where nothing was gradable."""
    valid = np.array([bool(r["valid"]) for r in records])
    out = {}
    for k, values in pass_table(records).items():
        out[k] = np.full(len(records), np.nan)
        out[k][valid] = values
    return out
