"""The token stream that the parser reads, with its bound on nesting."""

from __future__ import annotations

from typing import Any

from agrae_jax.verify.tokens import Token
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
END = Token("end", "")
_MAX_DEPTH = 60
_FUNCTION_NAMES = frozenset("fghFGHPQ")


class Stream:
    """Tokens, a position, and what the grammar has to remember while it reads."""

    def __init__(self, tokens: list[Token], letters: frozenset[str] | None):
        self.tokens, self.at, self.letters, self.depth = tokens, 0, letters, 0
        self.lone_units = False  # whether a letter after a number may be a unit
        self.bars = 0  # absolute values that are open
        self.in_set = False  # where | and : begin a condition
        self.functions = _functions(tokens)

    def peek(self, ahead: int = 0) -> Token:
        """The token to be read, or one further on."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else END

    def next(self) -> Token:
        """Reads one token."""
        token = self.peek()
        self.at += 1
        return token

    def op(self, *values: str) -> bool:
        """Whether the next token is one of these operators."""
        token = self.peek()
        return token.kind == "op" and token.value in values

    def take(self, *values: str) -> bool:
        """Reads the next token if it is one of these operators."""
        if self.op(*values):
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        """Reads an operator that has to come."""
        if not self.take(value):
            raise NotUnderstood(f"{value!r} is missing")

    def expect_end(self) -> None:
        """Raises NotUnderstood if anything is left."""
        if self.peek().kind != "end":
            raise NotUnderstood(f"{self.peek().value[:20]!r} is out of place")

    def deeper(self) -> None:
        """Counts one level of nesting."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise NotUnderstood("nested too deep")

    def braced(self) -> str:
        """The text of a braced group, or of one token, without reading its meaning."""
        if not self.take("{"):
            token = self.next()
            if token.kind not in ("num", "sym", "text", "word"):
                raise NotUnderstood("an argument is missing")
            if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
                self.tokens.insert(self.at, Token("num", token.value[1:]))
                return token.value[0]
            return token.value
        depth, parts = 1, []
        while depth:
            token = self.next()
            if token.kind == "end" or len(parts) > 40:
                raise NotUnderstood("an argument that does not end")
            depth += (token.value == "{") - (token.value == "}")
            parts.append(token.value)
        if len(parts) == 1:
            raise NotUnderstood("an argument is empty")
        return "".join(parts[:-1])


def _functions(tokens: list[Token]) -> set[str]:
    """Letters that are used as functions only: every one is followed by a bracket."""
    names = {t.value for t in tokens if t.kind == "sym"} & _FUNCTION_NAMES
    for token, after in zip(tokens, [*tokens[1:], END], strict=False):
        if token.kind == "sym" and after.value not in ("(", "'", "^", "_"):
            names.discard(token.value)
    return names
