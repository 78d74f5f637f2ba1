"""Sampling and grading of an evaluation: problems in waves, samples in chunks.

A chunk is what is on the devices at a time, so memory does not grow with n. The noise
of a sample is that of (seed, problem, number of the sample), whatever chunk or wave.
Of several processes each grades the rows it holds; what is on disk process 0 says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from agrae_jax.data.batches import HostBatch
from agrae_jax.data.problem import Problem
from agrae_jax.distributed import from_first, gather, local_rows, local_slice
from agrae_jax.evaluation.progress import Progress, Row
from agrae_jax.evaluation.voting import NO_ANSWER, Same, answer_classes
from agrae_jax.grading import DecodeFn, GradeFn, grade_rows
from agrae_jax.types import STOP_LENGTH, PromptBatch, Rollout
from agrae_jax.verify.types import CORRECT, UNGRADABLE

Record = dict[str, Any]
# (params, prompts, number of the first sample or None) -> Rollout
SampleFn = Callable[[Any, PromptBatch, int | None], Rollout]
GREEDY = "greedy"  # the name of the greedy completion among the samples


@dataclasses.dataclass(frozen=True)
class Sampling:
    """`sample` draws `chunk` samples; `count` times that are at least `samples`."""

    samples: int
    count: int
    chunk: int
    sample: SampleFn
    greedy: SampleFn | None = None  # draws one greedy completion

    @property
    def units(self) -> int:
        """Calls of a sampler for one wave of problems."""
        return self.count + (self.greedy is not None)


def split(samples: int, at_most: int) -> tuple[int, int]:
    """(count, size): the fewest equal parts of at most so many each."""
    count = -(-samples // at_most)
    return count, -(-samples // count)


def run_waves(
    params: Any,
    batches: Sequence[HostBatch],
    *,
    sampling: Sampling,
    decode: DecodeFn,
    grade: GradeFn,
    same: Same | None,
    progress: Progress | None,
    on_unit: Callable[[], None] = lambda: None,
) -> list[Record]:
    """Per-problem records, in order; every completion goes to `progress`.

    What `progress` holds already is not sampled again; all processes but the first
    have None. `same` says which answers are
    one class for the vote, None: those that are written alike.
    """
    records: list[Record] = []
    for number, batch in enumerate(batches):
        done = from_first(progress.records(number) if progress else None)
        if done is None:
            rows = _wave(
                params, number, batch, sampling, decode, grade, progress, on_unit
            )
            problems = batch.problems[: int(batch.weight_B.sum())]
            done = from_first(_records(problems, rows, same) if progress else None)
            if progress:
                progress.finish(number, done)
        else:
            for _ in range(sampling.units):
                on_unit()
        records += [record for record, _ in done]
    return records


def _wave(
    params: Any,
    number: int,
    batch: HostBatch,
    sampling: Sampling,
    decode: DecodeFn,
    grade: GradeFn,
    progress: Progress | None,
    on_unit: Callable[[], None],
) -> list[Row]:
    rows: list[Row] = []
    own = local_slice(len(batch.problems))
    prompts = jax.tree.map(lambda x: x[own], batch.prompts)
    for unit in range(sampling.units):
        found = from_first(progress.rows(number, unit) if progress else None)
        if found is None:
            first = unit * sampling.chunk
            if unit == sampling.count:
                assert sampling.greedy is not None
                rollout, names = sampling.greedy(params, prompts, None), [GREEDY]
            else:
                # One chunk is the program that training samples with, bit for bit.
                rollout = sampling.sample(
                    params, prompts, None if sampling.count == 1 else first
                )
                names = range(first, min(first + sampling.chunk, sampling.samples))
            parts = gather(_rows(rollout, batch, names, decode, grade))
            found = [row for part in parts for row in part]
            if progress:
                progress.add(number, unit, found)
        rows += found
        on_unit()
    return rows


def _rows(
    rollout: Rollout,
    batch: HostBatch,
    names: Sequence[int | str],
    decode: DecodeFn,
    grade: GradeFn,
) -> list[Row]:
    """One object a completion of this process, those of a problem together."""
    own = local_slice(len(batch.problems))
    real = int(batch.weight_B[own].sum())  # rows after these only fill the batch
    cut = (slice(real), slice(len(names)))
    completion = local_rows(rollout.completion_BGT)[cut]
    length = local_rows(rollout.length_BG)[cut]
    truncated = local_rows(rollout.stop_BG)[cut] == STOP_LENGTH
    entropy = local_rows(rollout.entropy_BGT)[cut].astype(np.float64).sum(-1)
    problems = batch.problems[own][:real]
    golds = [problem.answer for problem in problems]
    graded, verdicts = grade_rows(completion, length, golds, decode=decode, grade=grade)
    return [
        {
            "id": problem.id,
            "sample": name,
            "completion": decode(completion[b, g, : length[b, g]].tolist()),
            "outcome": verdicts[b][g].outcome,
            "answer": verdicts[b][g].answer,
            "rule": verdicts[b][g].rule,
            "answered": bool(graded.format_ok_BG[b, g]),
            "tokens": int(length[b, g]),
            "truncated": bool(truncated[b, g]),
            "entropy_sum": float(entropy[b, g]),
        }
        for b, problem in enumerate(problems)
        for g, name in enumerate(names)
    ]


def _records(
    problems: Sequence[Problem], rows: list[Row], same: Same | None
) -> list[tuple[Record, list[int | None]]]:
    """A problem's counts, and the answer class of each of its samples."""
    of = {
        problem.id: [r for r in rows if r["id"] == problem.id] for problem in problems
    }
    sampled = [[r for r in of[p.id] if r["sample"] != GREEDY] for p in problems]
    classes = answer_classes(sampled, same)
    found = []
    for problem, drawn, votes in zip(problems, sampled, classes, strict=True):
        record = _record(problem, drawn, votes)
        for row in of[problem.id]:
            if row["sample"] == GREEDY:
                keys = ("outcome", "tokens", "truncated", "entropy_sum")
                record[GREEDY] = {key: row[key] for key in keys}
        found.append((record, votes))
    return found


def _record(problem: Problem, rows: list[Row], votes: list[int | None]) -> Record:
    outcomes = [row["outcome"] for row in rows]
    counted = [vote for vote in votes if vote is not None and vote != NO_ANSWER]
    sizes = np.bincount(counted, minlength=1).tolist()
    return {
        "id": problem.id,
        "key": problem.key,
        "level": problem.level,
        "subject": problem.subject,
        "gold": problem.answer,
        "samples": len(rows),
        "valid": len(rows) - outcomes.count(UNGRADABLE),
        "correct": outcomes.count(CORRECT),
        "answered": sum(row["answered"] for row in rows),
        "truncated": sum(row["truncated"] for row in rows),
        "tokens": sum(row["tokens"] for row in rows),
        "entropy_sum": round(sum(row["entropy_sum"] for row in rows), 6),
        "votes": sizes,  # of the gold's class, then of the others by first mention
    }
