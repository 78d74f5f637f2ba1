"""Which samples of a problem gave the same answer, by the grader's word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from agrae_jax.verify import numbers
from agrae_jax.verify.types import CORRECT, UNGRADABLE

Same = Callable[[list[tuple[str, str]]], list[bool]]  # pairs of answers -> equal?
GOLD, NO_ANSWER = 0, -1
# So many answers of a problem are compared with all that come after them. Answers go
# by how often they were given, so only rare ones of a very scattered problem are left.
MOST_COMPARED = 40


def answer_classes(
    problems: Sequence[Sequence[dict[str, Any]]], same: Same | None
) -> list[list[int | None]]:
    """The class of each sample of each problem, given their graded rows.

    0 is the gold's: all that are correct. Others count from 1 by first mention, -1 is
    no answer, None ungradable. Wrong answers are in one class if `same` calls them
    equal, or, without it, if they are written alike.
    """
    wrong = [
        Counter(
            _plain(row["answer"])
            for row in rows
            if row["outcome"] not in (CORRECT, UNGRADABLE) and row["answer"] is not None
        )
        for rows in problems
    ]
    groups = _merge([[a for a, _ in count.most_common()] for count in wrong], same)
    return [_classes(rows, group) for rows, group in zip(problems, groups, strict=True)]


def _classes(rows: Sequence[dict[str, Any]], group: dict[str, str]) -> list[int | None]:
    number: dict[str, int] = {}
    found: list[int | None] = []
    for row in rows:
        if row["outcome"] == UNGRADABLE:
            found.append(None)
        elif row["outcome"] == CORRECT:
            found.append(GOLD)
        elif row["answer"] is None:
            found.append(NO_ANSWER)
        else:
            first = group[_plain(row["answer"])]
            found.append(number.setdefault(first, len(number) + 1))
    return found


def _merge(answers: Sequence[list[str]], same: Same | None) -> list[dict[str, str]]:
    """For each problem, answer -> the first answer that it equals.

    Numbers go by their value; of the rest many pairs are compared in one round, for
    all problems at once.
    """
    found = [_by_value(texts) if same else {t: t for t in texts} for texts in answers]
    waiting = [list(dict.fromkeys(group.values())) for group in found]
    for _ in range(MOST_COMPARED):
        if same is None or not any(waiting):
            break
        asked = [
            (i, text, texts[0])
            for i, texts in enumerate(waiting)
            for text in texts[1:]
            if not (_is_number(text) and _is_number(texts[0]))  # of another value
        ]
        equal = same([(text, first) for _, text, first in asked]) if asked else []
        joined = {
            (i, text): first
            for (i, text, first), yes in zip(asked, equal, strict=True)
            if yes
        }
        for i, texts in enumerate(waiting):
            waiting[i] = [t for t in texts[1:] if (i, t) not in joined]
            found[i] = {t: joined.get((i, f), f) for t, f in found[i].items()}
    return found


def _by_value(texts: Sequence[str]) -> dict[str, str]:
    first: dict[object, str] = {}
    values = {t: numbers.ordinary(t) for t in texts}
    return {t: first.setdefault(t if v is None else v, t) for t, v in values.items()}


def _is_number(text: str) -> bool:
    return numbers.ordinary(text) is not None


def _plain(answer: str) -> str:
    return " ".join(answer.split())
