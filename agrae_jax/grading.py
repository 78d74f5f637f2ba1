"""Grading a rollout: text and verdicts on the host, arrays again on the devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agrae_jax.distributed import global_rows, local_rows
from agrae_jax.types import Graded, Rollout


def verify(
    rollout: Rollout,
    answers: list[str],
    *,
    decode: Callable[[list[int]], str],
    grade: Callable[[list[tuple[str, str]]], list[Any]],
) -> tuple[Graded, list[list[Any]]]:
    """Grades this process's completions on the host; returns global arrays again.

    `grade` takes (completion text, reference answer) pairs and returns verdicts with
    `outcome` ("correct", "wrong" or "ungradable") and `answer` (None if no answer
    could be extracted).
    """
    completion = local_rows(rollout.completion_BGT)
    length = local_rows(rollout.length_BG)
    rows, samples = length.shape
    items = [
        (decode(completion[b, g, : length[b, g]].tolist()), answers[b])
        for b in range(rows)
        for g in range(samples)
    ]
    verdicts = grade(items)
    table = lambda f: np.array(  # noqa: E731
        [f(v) for v in verdicts], np.float32
    ).reshape(rows, samples)
    graded = Graded(
        correct_BG=table(lambda v: v.outcome == "correct"),
        format_ok_BG=table(lambda v: v.answer is not None),
        valid_BG=table(lambda v: v.outcome != "ungradable"),
    )
    graded = global_rows(graded, rollout.length_BG.sharding)
    by_row = [verdicts[b * samples : (b + 1) * samples] for b in range(rows)]
    return graded, by_row
