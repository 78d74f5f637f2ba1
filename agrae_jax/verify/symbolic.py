"""The one door to mpmath, sympy and math-verify. All are imported when first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from agrae_jax.verify.types import CORRECT, WRONG, NotUnderstood, TooBig

Node = tuple[Any, ...]
_CALLS = 400_000  # Python calls that a simplification may take: work, not time


def mp() -> Any:
    """mpmath's context of real and complex numbers."""
    import mpmath

    return mpmath.mp


def reduces_to_zero(node: Node) -> bool:
    """Whether sympy simplifies an expression to zero; False where it cannot tell.

    The tree is built from sympy's own constructors, no text is parsed, and the work
    is counted in calls, so that the answer is the same on any machine.
    """
    import sympy

    try:
        return _counted(lambda: sympy.simplify(_convert(node, sympy)) == 0)
    except (NotUnderstood, TooBig, ArithmeticError, TypeError, ValueError):
        return False
    except (AttributeError, NotImplementedError, RecursionError):
        return False


def _counted(work: Callable[[], bool]) -> bool:
    left = _CALLS

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        if event == "call":
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise TooBig("the simplification takes too long")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return bool(work())
    finally:
        sys.setprofile(before)


_UNARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "exp": "exp", "ln": "log", "abs": "Abs",
}  # fmt: skip


def _convert(node: Node, sympy: Any) -> Any:
    tag = node[0]
    if tag == "num":
        value = Fraction(node[1])
        if value.numerator.bit_length() + value.denominator.bit_length() > 4_000:
            raise TooBig("a number of too many digits")
        return sympy.Rational(value.numerator, value.denominator)
    if tag == "sym":
        if node[1] in ("e", "i"):
            return sympy.E if node[1] == "e" else sympy.I
        return sympy.Symbol(node[1], positive=True)
    if node == ("const", "pi"):
        return sympy.pi
    if tag not in ("add", "mul", "div", "pow", "fn"):
        raise NotUnderstood("not for sympy")
    if tag == "fn":
        if node[1] not in _UNARY:
            raise NotUnderstood("not for sympy")
        return getattr(sympy, _UNARY[node[1]])(_convert(node[2], sympy))
    parts = [_convert(child, sympy) for child in node[1:]]
    if tag == "add":
        return sympy.Add(*parts)
    if tag == "mul":
        return sympy.Mul(*parts)
    if tag == "div":
        return parts[0] / parts[1]
    if not parts[1].is_Rational or abs(parts[1]) > 200:
        raise TooBig("an exponent that sympy would expand")
    return parts[0] ** parts[1]


def second_opinion(text: str, gold: str) -> str:
    """The outcome of math-verify as it is: an independent path, for audits only.

    It has no protection of its own here: call it where a deadline is enforced.
    """
    import math_verify

    parse: Any = math_verify.parse  # its stubs forbid None, its code documents it
    verify: Any = math_verify.verify
    target = parse(f"${gold}$", parsing_timeout=None)
    given = parse(text, parsing_timeout=None)
    same = verify(target, given, timeout_seconds=None)
    return CORRECT if same else WRONG
