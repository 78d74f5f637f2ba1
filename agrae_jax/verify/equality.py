"""Equality, proportion and order of expressions.

Two expressions are equal if (1) their canonical trees are, or (2) both are rational
and equal exactly, or (3) they agree at fixed points to 40 and again to 120 digits,
with no term too small to be seen, or (4) where a term was, sympy reduces their
difference to zero. Letters take positive values, as those for quantities do; where an
absolute value occurs, negative ones as well.
"""

from __future__ import annotations

from typing import Any

from agrae_jax.verify import trees
from agrae_jax.verify.exact import Work, rational
from agrae_jax.verify.symbolic import mp, reduces_to_zero
from agrae_jax.verify.types import TooBig, Undefined
from agrae_jax.verify.values import (
    GUARD,
    LOG_BASE,
    Invisible,
    evaluate,
    is_zero,
    pseudo,
)

Node = tuple[Any, ...]
_POINTS = 4  # that must agree
_TRIES = 12
_DIGITS = (40, 120)
_SCALES = (1, 13, 170)
_PIECED = ("abs", "max", "min", "floor", "ceil", "root")


def equal(left: Node, right: Node, work: Work) -> bool:
    """Whether two expressions have the same value, for all values of their letters.

    Raises Undefined if an expression has no value and TooBig if that is out of reach.
    """
    work.spend(20)
    if trees.canonical(left) == trees.canonical(right):
        return True
    names = sorted(trees.variables(left) | trees.variables(right))
    if not names:
        first, second = (rational(n, work, {}) for n in (left, right))
        if first is not None and second is not None:
            return first == second
    bases = (None, 10) if trees.contains(("add", left, right), "log") else (None,)
    return any(_agree(left, right, names, work, base) for base in bases)


def _agree(
    left: Node, right: Node, names: list[str], work: Work, base: int | None
) -> bool:
    signed = trees.contains(("add", left, right), "abs", "max", "min")
    counters = trees.counters(("add", left, right))
    seen = 0
    env: dict[str, Any] = {LOG_BASE: base} if base else {}
    try:
        for attempt in range(_TRIES if names else 1):
            try:
                if not _agree_at(left, right, names, env, attempt, signed, work):
                    return False
            except Undefined:
                continue
            seen += 1
            if seen >= (2 * _POINTS if counters else _POINTS):
                break
    except Invisible:
        return reduces_to_zero(trees.difference(left, right))
    if seen < (2 if names else 1):
        raise Undefined("no value at any point")
    if not names or not _pieced(("add", left, right)):
        return True
    return _agree_far(left, right, names, env, signed, work)


def _pieced(node: Node) -> bool:
    """Whether an expression may be one formula here and another one elsewhere."""
    if trees.contains(node, *_PIECED):
        return True
    if node[0] == "pow" and not (node[2][0] == "num" and node[2][1] == int(node[2][1])):
        return True
    return any(_pieced(child) for child in trees.children(node))


def _agree_far(
    left: Node,
    right: Node,
    names: list[str],
    env: dict[str, Any],
    signed: bool,
    work: Work,
) -> bool:
    """As `_agree` at points of other sizes: |x - 3| is 3 - x below 3 only."""
    for attempt in range(_TRIES, _TRIES + 6):
        try:
            if not _agree_at(left, right, names, env, attempt, signed, work):
                return False
        except (Undefined, Invisible):
            continue
        except TooBig:
            if work.left < 0:
                raise
    return True


def _agree_at(
    left: Node,
    right: Node,
    names: list[str],
    env: dict[str, Any],
    attempt: int,
    signed: bool,
    work: Work,
) -> bool:
    m = mp()
    counters = trees.counters(("add", left, right))
    for digits in _DIGITS:
        with m.workdps(digits + GUARD):
            for place, name in enumerate(names):
                value = pseudo(f"{name}#{attempt}")
                if name in counters:
                    value = m.mpf(attempt + 2)
                elif attempt >= _TRIES:
                    value *= _SCALES[(attempt + place) % len(_SCALES)]
                env[name] = -value if signed and attempt % 2 else value
            a, b = (evaluate(n, env, work) for n in (left, right))
            scale = max(abs(a), abs(b))
            if abs(a - b) > scale * m.mpf(10) ** (-digits):
                if scale < m.mpf(10) ** (5 - digits):
                    raise Invisible  # both are rounding noise around zero
                return False
    return True


def ratio(left: Node, right: Node, work: Work) -> int:
    """The sign of a constant c != 0 with left = c * right everywhere; 0 if none."""
    names = sorted(trees.variables(left) | trees.variables(right))
    m = mp()
    first = None
    for digits in _DIGITS:
        with m.workdps(digits + GUARD):
            first, seen = None, 0
            for attempt in range(_TRIES):
                env = {n: pseudo(f"{n}#{attempt}") for n in names}
                try:
                    a, b = (evaluate(n, env, work) for n in (left, right))
                except (Undefined, Invisible):
                    continue
                if is_zero(a) or is_zero(b):
                    if is_zero(a) and is_zero(b):
                        continue
                    return 0
                if first is None:
                    first = a / b
                elif abs(a / b - first) > abs(first) * m.mpf(10) ** (-digits):
                    return 0
                seen += 1
                if seen >= _POINTS or not names:
                    break
            if first is None or (names and seen < 2):
                raise Undefined("no value at any point")
    if not is_zero(m.im(first)):
        return 0
    return 1 if m.re(first) > 0 else -1


def order(left: Node, right: Node, work: Work) -> int:
    """-1, 0 or 1 as one real constant is below, at or above the other."""
    if equal(left, right, work):
        return 0
    m = mp()
    with m.workdps(_DIGITS[0]):
        a, b = (evaluate(n, {}, work) for n in (left, right))
        if not is_zero(m.im(a)) or not is_zero(m.im(b)):
            raise Undefined("complex numbers have no order")
        return -1 if m.re(a) < m.re(b) else 1
