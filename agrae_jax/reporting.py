"""What a run says and writes beside its state: times, levels, rollouts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agrae_jax import methods
from agrae_jax.build import Model
from agrae_jax.console import Console, StepReport
from agrae_jax.data.batches import Encoded, HostBatch
from agrae_jax.distributed import gather, local_rows
from agrae_jax.grading import DecodeFn
from agrae_jax.metrics import Values
from agrae_jax.run_directory import RunDirectory, write_text
from agrae_jax.step import Seen


def announce(console: Console, config: Any, run: RunDirectory) -> None:
    """The first lines of a run: what will happen and how long it takes."""
    c, e = config.rollout, config.eval
    times = f", {config.log.expected}" if config.log.expected else ""
    console.say(
        f"Training {config.model.path} with {config.method.name} on"
        f" {config.data.train}: {config.steps} steps of {c.prompts} prompts x"
        f" {c.samples} samples{times}"
    )
    method = methods.resolve(config.method.name, **dict(config.method.kwargs))
    if method.status == "experimental":
        console.warn(
            f"{config.method.name} is experimental ({method.paper}): the paper's own"
            " formula or constants were not found; see docs/methods.md"
        )
    plan = [name for name, on in (("before", e.before), ("after", e.after)) if on]
    if plan:
        console.say(
            f"Evaluation {' and '.join(plan)}: {e.problems or 'all'} held-out problems"
            f" of {config.data.test} x {e.samples} samples. Results go to {run.path}"
        )
    console.say("The first wave and the first step take longer: they compile.")
    for note in run.notes:
        console.say(note)


def say_prompt(
    console: Console, path: Path, model: Model, encoded: Sequence[Encoded]
) -> None:
    """Shows the first prompt as the model sees it, markup included, and keeps it."""
    tokens = [*model.policy.prefix, *encoded[0].tokens]
    text = model.tokenizer.decode(tokens, skip_special=False)
    write_text(path, text)
    lines = "\n".join(f"  | {line}" for line in text.split("\n"))
    console.say(f"The first of {len(encoded)} prompts, {len(tokens)} tokens:\n{lines}")


class Timer:
    """Seconds per phase; a phase ends when the next one starts or at `stop`.

    `between` is called before each phase and may raise.
    """

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        self.seconds: dict[str, float] = {}
        self.phase = ""  # the running one
        self._between, self._since = between, 0.0

    def start(self, name: str) -> None:
        """Ends the running phase and starts `name`."""
        self.stop()
        self._between()
        self.phase, self._since = name, time.monotonic()

    def stop(self) -> None:
        """Ends the running phase."""
        if self.phase:
            spent = time.monotonic() - self._since
            self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + spent
        self.phase = ""


def report_step(
    values: Values, batch: HostBatch, seen: Seen, timer: Timer
) -> tuple[dict[str, Any], StepReport]:
    """Adds pass rates by level, token counts and times; and what the console shows."""
    length_BG = local_rows(seen.rollout.length_BG)
    correct_BG = local_rows(seen.graded.correct_BG)
    valid_BG = local_rows(seen.graded.valid_BG)
    rows = [
        (problem.level or "all", float(correct_BG[b].sum()), float(valid_BG[b].sum()))
        for b, problem in enumerate(batch.problems)
    ]
    counts = int(length_BG.sum()), int(np.asarray(batch.prompts.length_B).sum())
    parts = gather([counts, rows])  # of all processes
    generated = sum(part[0][0] for part in parts)
    learned = generated + sum(part[0][1] for part in parts)
    levels: dict[str, list[float]] = {}
    for level, correct, valid in (row for part in parts for row in part[1]):
        total = levels.setdefault(level, [0.0, 0.0])
        total[0] += correct
        total[1] += valid
    by_level = {
        level: (total / count if count else None)
        for level, (total, count) in sorted(levels.items())
    }
    out: dict[str, Any] = dict(values)
    out |= {f"pass_rate/{level}": rate for level, rate in by_level.items()}
    out |= {f"time/{name}_s": spent for name, spent in timer.seconds.items()}
    sampling = generated / timer.seconds["sample"]
    learning = learned / timer.seconds["learn"]
    out |= {"generated_tokens": generated, "learned_tokens": learned}
    out |= {"time/sampling_tokens_per_s": sampling}
    out |= {"time/learning_tokens_per_s": learning}
    summary = StepReport(
        reward=values.get("reward"),
        pass_by_level=by_level,
        entropy=values.get("entropy"),
        sampling_tokens_per_s=sampling,
        learning_tokens_per_s=learning,
    )
    return out, summary


class EpochCount:
    """How many problems of the running epoch no completion has solved yet.

    `logged` are the lines of metrics.jsonl before a resume: the count goes on from the
    last one, so that a resumed run counts as an unbroken one.
    """

    def __init__(self, problems: int, logged: Sequence[Mapping[str, Any]] = ()):
        self._problems = problems
        last = logged[-1] if logged else {}
        self._counts = {
            name: int(last.get(name) or 0)
            for name in ("epoch", "epoch_seen", "epoch_unsolved")
        }

    def add(self, draw_B: Sequence[int], solved_B: Sequence[bool]) -> dict[str, int]:
        """Counts a step's groups; a draw of a new epoch begins again."""
        counts = self._counts
        for draw, solved in zip(draw_B, solved_B, strict=True):
            epoch = int(draw) // self._problems
            if epoch > counts["epoch"]:
                counts |= {"epoch": epoch, "epoch_seen": 0, "epoch_unsolved": 0}
            counts["epoch_seen"] += 1
            counts["epoch_unsolved"] += not solved
        return dict(counts)


def rollout_rows(
    batch: HostBatch, seen: Seen, decode: DecodeFn, *, tokens: bool = False
) -> Iterator[dict[str, Any]]:
    """One JSON object a completion, for `rollouts/step_*.jsonl`.

    With `tokens` also the text, log-prob and entropy of every token, rounded.
    """
    completion = local_rows(seen.rollout.completion_BGT)
    length = local_rows(seen.rollout.length_BG)
    reward, advantage = local_rows(seen.reward_BG), local_rows(seen.advantage_BG)
    stop = local_rows(seen.rollout.stop_BG)
    logprob = local_rows(seen.rollout.logprob_BGT) if tokens else None
    entropy = local_rows(seen.rollout.entropy_BGT) if tokens else None

    def each_token(row: int, g: int) -> dict[str, Any]:
        if logprob is None or entropy is None:
            return {}
        n = length[row, g]
        return {
            "pieces": [decode([i]) for i in completion[row, g, :n].tolist()],
            "logprob": [round(float(x), 3) for x in logprob[row, g, :n]],
            "entropy": [round(float(x), 3) for x in entropy[row, g, :n]],
        }

    for row, problem in enumerate(batch.problems):
        for g in range(length.shape[1]):
            verdict = seen.verdicts[row][g]
            yield {
                "draw": int(batch.prompts.draw_B[row]),
                "id": problem.id,
                "level": problem.level,
                "question": problem.question,
                "gold": problem.answer,
                "sample": g,
                "completion": decode(completion[row, g, : length[row, g]].tolist()),
                "tokens": int(length[row, g]),
                "stop": ["none", "eos", "length"][int(stop[row, g])],
                "outcome": verdict.outcome,
                "answer": verdict.answer,
                "span": verdict.span,
                "rule": verdict.rule,
                "reason": verdict.reason,
                "reward": float(reward[row, g]),
                "advantage": float(advantage[row, g]),
                **each_token(row, g),
            }
