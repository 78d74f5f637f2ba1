"""Grading a rollout: text and verdicts on the host, arrays again on the devices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from agrae_jax.distributed import gather, global_rows, local_rows
from agrae_jax.types import Graded, Rollout
from agrae_jax.verify.types import Verdict

DecodeFn = Callable[[list[int]], str]
GradeFn = Callable[[list[tuple[str, str]]], list[Any]]
# (completion text, reference answer) pairs -> verdicts with `outcome` ("correct",
# "wrong" or "ungradable"), `answer` (None if none could be extracted) and `format_ok`
# (None where the verifier asks for no format)


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
        format_ok_BG=table(_format_ok),
        valid_BG=table(lambda v: v.outcome != "ungradable"),
    )
    return graded, [verdicts[b * samples : (b + 1) * samples] for b in range(rows)]


def _format_ok(verdict: Any) -> bool:
    return (
        verdict.answer is not None if verdict.format_ok is None else verdict.format_ok
    )


def everyones(verdicts: list[list[Any]]) -> list[list[Any]]:
    """The rows of verdicts of all processes, in their order; all must call."""
    if jax.process_count() == 1:
        return verdicts
    rows = [[dataclasses.asdict(verdict) for verdict in row] for row in verdicts]

    def again(fields: dict[str, Any]) -> Verdict:
        if fields["span"] is not None:
            fields["span"] = tuple(fields["span"])
        return Verdict(**fields)

    parts = gather(rows)
    return [[again(fields) for fields in row] for part in parts for row in part]


def remembering(decode: DecodeFn, size: int) -> DecodeFn:
    """`decode` that keeps its last `size` texts: those of a rollout are needed thrice.

    (Where they are graded ahead, where they are graded, and where they are written.)
    """
    cached = functools.lru_cache(maxsize=size)(lambda tokens: decode(list(tokens)))
    return lambda tokens: cached(tuple(tokens))


def ahead(
    rollout: Rollout,
    *,
    answers: Mapping[int, str],
    decode: DecodeFn,
    submit: Callable[[list[tuple[str, str]]], Any],
) -> None:
    """Starts grading a wave while the devices sample the next one.

    `answers` go by prompt id. The verdicts wait in the cache of the grader. In a run
    of several processes a wave holds rows that others will grade: it is left to them.
    """
    if not rollout.length_BG.is_fully_addressable:
        return
    completion, length = (
        np.asarray(rollout.completion_BGT),
        np.asarray(rollout.length_BG),
    )
    ids = np.asarray(rollout.prompts.prompt_id_B).tolist()
    submit(
        [
            (decode(row[:n].tolist()), answers[prompt])
            for prompt, rows, ns in zip(ids, completion, length, strict=True)
            for row, n in zip(rows, ns, strict=True)
        ]
    )
