"""Grading a rollout: text and verdicts on the host, arrays again on the devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agrae_jax.distributed import global_rows, local_rows
from agrae_jax.types import Graded, Rollout

DecodeFn = Callable[[list[int]], str]
GradeFn = Callable[[list[tuple[str, str]]], list[Any]]
# (completion text, reference answer) pairs -> verdicts with `outcome` ("correct",
# "wrong" or "ungradable") and `answer` (None if none could be extracted)


def verify(
    rollout: Rollout, answers: Sequence[str], *, decode: DecodeFn, grade: GradeFn
) -> tuple[Graded, list[list[Any]]]:
    """Grades the completions that this process holds; returns global arrays again.

    `answers` are those of this process's prompts, in order.
    """
    graded, verdicts = grade_rows(
        local_rows(rollout.completion_BGT),
        local_rows(rollout.length_BG),
        answers,
        decode=decode,
        grade=grade,
    )
    return global_rows(graded, rollout.length_BG.sharding), verdicts


def grade_rows(
    completion_BGT: np.ndarray,
    length_BG: np.ndarray,
    answers: Sequence[str],
    *,
    decode: DecodeFn,
    grade: GradeFn,
) -> tuple[Graded, list[list[Any]]]:
    """As `verify`, on host arrays alone."""
    rows, samples = length_BG.shape
    items = [
        (decode(completion_BGT[b, g, : length_BG[b, g]].tolist()), answers[b])
        for b in range(rows)
        for g in range(samples)
    ]
    verdicts = grade(items)

    def table(of: Callable[[Any], bool]) -> Any:
        return np.array([of(v) for v in verdicts], np.float32).reshape(rows, samples)

    graded = Graded(
        correct_BG=table(lambda v: v.outcome == "correct"),
        format_ok_BG=table(lambda v: v.answer is not None),
        valid_BG=table(lambda v: v.outcome != "ungradable"),
    )
    return graded, [verdicts[b * samples : (b + 1) * samples] for b in range(rows)]
