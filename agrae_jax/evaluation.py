"""Evaluation: n samples a problem, graded, as counts from which any k can be had.

The same function serves training (before, during, after) and `evaluate.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from agrae_jax.data.batches import HostBatch
from agrae_jax.distributed import local_rows
from agrae_jax.grading import DecodeFn, GradeFn, grade_rows
from agrae_jax.rl.intervals import bootstrap_difference, bootstrap_mean
from agrae_jax.rl.pass_at_k import pass_at_k
from agrae_jax.types import STOP_LENGTH, PromptBatch, Rollout

Record = dict[str, Any]


def evaluate_batches(
    params: Any,
    batches: Iterable[HostBatch],
    *,
    sample: Callable[[Any, PromptBatch], Rollout],
    decode: DecodeFn,
    grade: GradeFn,
    on_wave: Callable[[int], None] = lambda done: None,
) -> tuple[list[Record], list[Record]]:
    """Per-problem records and per-sample records, in the order of the problems."""
    records: list[Record] = []
    samples: list[Record] = []
    for batch in batches:
        rollout = sample(params, batch.prompts)
        real = int(batch.weight_B.sum())  # rows after these only fill the batch
        problems = batch.problems[:real]
        rollout = jax.tree.map(lambda x, n=real: local_rows(x)[:n], rollout)
        graded, verdicts = grade_rows(
            rollout.completion_BGT,
            rollout.length_BG,
            [problem.answer for problem in problems],
            decode=decode,
            grade=grade,
        )
        for row, problem in enumerate(problems):
            records.append(_record(problem, rollout, graded, row))
            for g, verdict in enumerate(verdicts[row]):
                length = int(rollout.length_BG[row, g])
                tokens = rollout.completion_BGT[row, g, :length].tolist()
                samples.append(
                    {
                        "id": problem.id,
                        "sample": g,
                        "completion": decode(tokens),
                        "outcome": verdict.outcome,
                        "answer": verdict.answer,
                        "rule": verdict.rule,
                        "tokens": length,
                    }
                )
        on_wave(len(records))
    return records, samples


def _record(problem: Any, rollout: Rollout, graded: Any, row: int) -> Record:
    length = np.asarray(rollout.length_BG[row])
    correct = np.asarray(graded.correct_BG[row])
    valid = np.asarray(graded.valid_BG[row])
    stop = np.asarray(rollout.stop_BG[row])
    entropy = np.asarray(rollout.entropy_BGT[row], np.float64)
    return {
        "id": problem.id,
        "level": problem.level,
        "samples": int(length.size),
        "valid": int(valid.sum()),
        "correct": int(correct.sum()),
        "answered": int(np.asarray(graded.format_ok_BG[row]).sum()),
        "truncated": int((stop == STOP_LENGTH).sum()),
        "tokens": int(length.sum()),
        "entropy_sum": round(float(entropy.sum()), 6),
    }


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... up to `limit`."""
    return [2**i for i in range(limit.bit_length()) if 2**i <= limit]


def pass_table(records: Sequence[Record]) -> dict[str, np.ndarray]:
    """Per-problem unbiased pass@k for every power of two up to n: {"1": [..], ..}.

    n of a problem is its number of gradable samples; k goes up to the smallest n.
    """
    graded = [r for r in records if r["valid"]]
    n = np.array([r["valid"] for r in graded])
    c = np.array([r["correct"] for r in graded])
    ks = powers_of_two(int(n.min())) if graded else []
    return {str(k): pass_at_k(n, c, k) for k in ks}


def summarize(records: Sequence[Record]) -> dict[str, Any]:
    """Means with question-level bootstrap intervals, overall and by level."""
    if not records:
        return {"problems": 0}

    def interval(values: np.ndarray) -> dict[str, float]:
        mean, low, high = bootstrap_mean(values)
        return {"mean": mean, "low": low, "high": high}

    def total(key: str) -> float:
        return sum(r[key] for r in records)

    levels = sorted({r["level"] for r in records}, key=str)
    by_level = {
        level: {
            k: float(v.mean())
            for k, v in pass_table([r for r in records if r["level"] == level]).items()
        }
        for level in levels
    }
    return {
        "problems": len(records),
        "samples": records[0]["samples"],
        "pass@k": {k: interval(v) for k, v in pass_table(records).items()},
        "by_level": by_level,
        "answered": total("answered") / total("samples"),
        "truncated": total("truncated") / total("samples"),
        "ungradable": 1 - total("valid") / total("samples"),
        "mean_tokens": total("tokens") / total("samples"),
        "mean_entropy": total("entropy_sum") / total("tokens"),
    }


def compare(
    before: Sequence[Record], after: Sequence[Record]
) -> dict[str, dict[str, float]]:
    """Paired differences after - before of pass@k over questions, with intervals."""
    ids = [r["id"] for r in before]
    if ids != [r["id"] for r in after]:
        raise ValueError("the two evaluations do not hold the same problems")
    old, new = pass_table(before), pass_table(after)
    out = {}
    for k in old:
        if k in new:
            mean, low, high = bootstrap_difference(new[k], old[k])
            out[k] = {"mean": mean, "low": low, "high": high}
    return out
