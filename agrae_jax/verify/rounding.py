r"""The opt-in mode in which a correctly rounded decimal counts: 3.14 for \pi."""

from __future__ import annotations

import re
from fractions import Fraction

from agrae_jax.verify import equality, normalize, parse, trees
from agrae_jax.verify.exact import Work
from agrae_jax.verify.types import NotUnderstood, TooBig, Undefined

_SHOWN = re.compile(r"([+-]?)(\d*)\.(\d+)")


def rounded(gold: str, answer: str, digits: int) -> bool:
    """Whether one side is a decimal that the other one rounds to.

    The decimal must show at least `digits` significant digits, and the other side lie
    within half a unit of its last place: 0.33 of 1/3, but neither 0.34 nor 0.3.
    """
    sides = [normalize.clean(text) for text in (gold, answer)]
    first, second = sides
    return _rounds(first, second, digits) or _rounds(second, first, digits)


def _rounds(exact: str, shown: str, digits: int) -> bool:
    match = _SHOWN.fullmatch(shown)
    if match is None or len((match.group(2) + match.group(3)).lstrip("0")) < digits:
        return False
    half = ("num", Fraction(1, 2 * 10 ** len(match.group(3))))
    work = Work()
    try:
        node = parse.parse(exact)
        distance = ("fn", "abs", trees.difference(node, ("num", Fraction(shown))))
        return not trees.variables(node) and equality.order(distance, half, work) <= 0
    except (NotUnderstood, Undefined, TooBig, RecursionError):
        return False
