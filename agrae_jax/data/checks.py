"""What a careful reader would want to know about a data set before using it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agrae_jax.data.problem import Problem


def notes(name: str, problems: Sequence[Problem]) -> list[str]:
    """Empty golds, duplicate ids and repeated questions, one line each."""
    found = []
    empty = [problem.key or problem.id for problem in problems if not problem.answer]
    if empty:
        found.append(
            f"{name}: {len(empty)} rows without a gold left out: {_some(empty)}"
        )
    for what, values in (
        ("duplicate ids", [problem.key for problem in problems if problem.key]),
        ("repeated questions", [problem.question for problem in problems]),
    ):
        repeated = _repeated(values)
        if repeated:
            found.append(f"{name}: {len(repeated)} {what}: {_some(repeated)}")
    return found


def overlap(train: Iterable[Problem], test: Iterable[Problem]) -> list[Problem]:
    """The test problems whose question is also a training question.

    Questions are compared without regard to case and white space.
    """
    seen = {_folded(problem.question) for problem in train}
    return [problem for problem in test if _folded(problem.question) in seen]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _repeated(values: list[str]) -> list[str]:
    seen: set[str] = set()
    again: dict[str, None] = {}
    for value in values:
        if value in seen:
            again[value] = None
        seen.add(value)
    return list(again)


def _some(values: list[Any]) -> str:
    shown = ", ".join(" ".join(str(value).split())[:60] for value in values[:5])
    return shown + (", .." if len(values) > 5 else "")
