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

    One comparison of many pairs a round, of all problems at once.
    """
    found: list[dict[str, str]] = [{} for _ in answers]
    waiting = [list(dict.fromkeys(texts)) for texts in answers]
    for _ in range(MOST_COMPARED if same else 0):
        asked: list[tuple[int, str, str]] = []
        for i, texts in enumerate(waiting):
            if not texts:
                continue
            first, rest = texts[0], texts[1:]
            found[i][first] = first
            value = numbers.ordinary(first)
            waiting[i] = []
            for text in rest:
                other = numbers.ordinary(text) if value is not None else None
                if other is None:
                    asked.append((i, text, first))
                elif other == value:
                    found[i][text] = first
                else:
                    waiting[i].append(text)
        equal = (
            same([(text, first) for _, text, first in asked]) if asked and same else []
        )
        for (i, text, first), is_equal in zip(asked, equal, strict=True):
            if is_equal:
                found[i][text] = first
            else:
                waiting[i].append(text)
        if not any(waiting):
            break
    for group, texts in zip(found, waiting, strict=True):
        group |= {text: text for text in texts}
    return found


def _plain(answer: str) -> str:
    return " ".join(answer.split())
