"""The one record that every source of data is turned into."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Problem:
    """A question with its gold answer; `id` is its position in the data set."""

    id: int
    question: str
    answer: str  # the gold; the grader compares completions with it
    level: str = ""  # of difficulty, "" where the source has none
    subject: str | None = None
    key: str = ""  # the source's own name of the row
