"""What the verifier hands back, and the ways in which an input can fail it."""

from __future__ import annotations

import dataclasses

CORRECT, WRONG, UNGRADABLE = "correct", "wrong", "ungradable"


@dataclasses.dataclass(frozen=True)
class Extracted:
    """The part of a completion that is its answer.

    `kind` is "box", "phrase" or "number"; `span` are the character offsets in the
    completion, so that a viewer can mark it.
    """

    answer: str
    span: tuple[int, int]
    kind: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One graded completion.

    `outcome` is "correct", "wrong" or "ungradable"; the last one means that no
    answer would have been gradable fairly (gold not understood, deadline hit, worker
    died) and the sample has to leave the statistics. `rule` names what decided,
    `reason` says why in a few words, `ms` is the time spent on it. `format_ok` is
    None where the verifier asks for no format but an answer that can be found.
    """

    outcome: str
    answer: str | None
    span: tuple[int, int] | None
    rule: str
    reason: str
    ms: float
    format_ok: bool | None = None

    @property
    def correct(self) -> bool:
        """Whether the outcome is "correct"."""
        return self.outcome == CORRECT


class NotUnderstood(Exception):
    """The text is no answer that the parser knows."""


class Undefined(Exception):
    """The expression has no value (0/0, infinity - infinity, ...)."""


class TooBig(Exception):
    """Evaluating the expression would cost more than the fixed budget of work."""
