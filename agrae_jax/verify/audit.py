"""Audits: of golds against their own solutions, of verdicts by a second grader."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from agrae_jax.verify import grade as grading
from agrae_jax.verify.extract import extract
from agrae_jax.verify.pool import Batch, Pool
from agrae_jax.verify.types import CORRECT, UNGRADABLE, NotUnderstood, Verdict

Row = dict[str, Any]


def gold(row_id: Any, answer: str, solution: str | None) -> Row | None:
    """What is wrong with one gold, or None.

    `damage` is "empty", "not understood", or "solution" where the answer that the
    solution boxes is another one; `repaired` is then the solution's answer.
    """
    found = extract(solution) if solution else None
    boxed = found.answer if found and found.kind == "box" else None
    problem: Row = {"id": row_id, "gold": answer, "repaired": boxed}
    if not answer.strip():
        return problem | {"damage": "empty", "reason": "the gold is empty"}
    if boxed is not None:
        outcome, _, reason = _meaning(boxed, answer)
        if outcome != CORRECT:
            return problem | {"damage": "solution", "reason": reason}
    try:
        grading.kind_of(answer)
    except NotUnderstood as error:
        return problem | {"damage": "not understood", "reason": str(error)}
    return None


def _meaning(boxed: str, answer: str) -> tuple[str, str, str]:
    """Equal if either is the other's answer: a solution may box one value twice."""
    first = grading.judge(boxed, answer)
    if first[0] == CORRECT:
        return first
    second = grading.judge(answer, boxed)
    return second if second[0] == CORRECT else first


def golds(rows: Iterable[Row], field: str = "answer") -> list[Row]:
    """The damaged ones of rows with an answer and, if any, a `solution`."""
    found = []
    for number, row in enumerate(rows):
        row_id = row.get("id", number)
        damage = gold(row_id, str(row[field]), row.get("solution"))
        if damage:
            found.append(damage)
    return found


class SecondOpinion:
    """Grades a sample of verdicts again with math-verify and keeps disagreements.

    `share` is the part of the items that is graded twice; which ones is decided by
    their text and gold alone, so a resumed run audits the same.
    """

    def __init__(self, share: float, deadline_s: float = 5.0):
        self._share = share
        self._pool = Pool(1, deadline_s, verifier="math-verify")
        self._waiting: list[tuple[list[Row], Batch]] = []

    def submit(
        self, items: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]
    ) -> None:
        """Starts the second grading of a sample of (text, gold) items."""
        chosen = [
            (item, verdict)
            for item, verdict in zip(items, verdicts, strict=True)
            if verdict.outcome != UNGRADABLE and _draw(*item) < self._share
        ]
        if not chosen:
            return
        rows = [
            {"gold": g, "answer": v.answer, "outcome": v.outcome,
             "rule": v.rule, "text": text[-2000:]}
            for (text, g), v in chosen
        ]  # fmt: skip
        batch = self._pool.submit([item for item, _ in chosen])
        self._waiting.append((rows, batch))

    def collect(self, step: int) -> tuple[int, int, list[Row]]:
        """Waits; returns how many were compared since the last call, how many the
        second grader could not judge, and the disagreements, marked with `step`."""
        compared, unanswered, found = 0, 0, []
        for rows, batch in self._waiting:
            for row, second in zip(rows, batch.result(), strict=True):
                if second.outcome == UNGRADABLE:
                    unanswered += 1
                    continue
                compared += 1
                if second.outcome != row["outcome"]:
                    found.append({"step": step, **row, "second": second.outcome})
        self._waiting = []
        return compared, unanswered, found

    def close(self) -> None:
        """Ends the second grader."""
        self._pool.close()


def _draw(text: str, answer: str) -> float:
    key = f"{answer}\0{text}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") / 2**64
