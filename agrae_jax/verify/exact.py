"""Exact arithmetic on trees: what is rational is computed as a fraction, bounded.

The work is counted and sizes are checked before anything grows, so a power tower or
a factorial of a factorial costs nothing and a verdict never depends on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from agrae_jax.verify import series
from agrae_jax.verify.types import TooBig, Undefined

Node = tuple[Any, ...]
MAX_BITS = 200_000
MAX_FACTORIAL = 5_000
MAX_TERMS = 2_000


class Work:
    """A budget of elementary operations; `spend` raises TooBig when it is used up."""

    def __init__(self, limit: int = 200_000):
        self.left = limit

    def spend(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise TooBig("the budget of work is used up")


def rational(node: Node, work: Work, env: Mapping[str, Fraction]) -> Fraction | None:
    """Returns the value if the tree is a rational number by arithmetic alone.

    None means that it is not (a symbol, a root that does not come out, ...). Raises
    Undefined for 0/0 and the like and TooBig where the value has no place.
    """
    work.spend()
    tag = node[0]
    if tag == "num":
        return Fraction(node[1])
    if tag == "sym":
        return env.get(node[1])
    if tag in ("add", "mul"):
        values = [rational(child, work, env) for child in node[1:]]
        if any(v is None for v in values):
            return None
        total = Fraction(tag == "mul")
        for value in values:
            assert value is not None
            total = total + value if tag == "add" else total * value
            _bounded(total, work)
        return total
    if tag == "pct":
        value = rational(node[1], work, env)
        return None if value is None else value / 100
    if tag in ("div", "pow", "mod"):
        left, right = (rational(child, work, env) for child in node[1:])
        if right == 0 and tag != "pow":
            raise Undefined("a division by zero")
        if left is None or right is None:
            return None
        if tag == "div":
            return left / right
        return left % right if tag == "mod" else power(left, right, work)
    if tag == "fact":
        value = rational(node[1], work, env)
        return None if value is None else factorial(value, work)
    if tag == "fn":
        return _function(node, work, env)
    if tag == "big":
        return _big(node, work, env)
    return None


def _bounded(value: Fraction, work: Work) -> None:
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    if bits > 2 * MAX_BITS:
        raise TooBig("a number of too many digits")
    work.spend(bits // 2_000)


def power(base: Fraction, exponent: Fraction, work: Work) -> Fraction | None:
    """base ** exponent where that is rational, else None."""
    if exponent.denominator != 1:
        root = _root(base, exponent.denominator, work)
        return None if root is None else power(root, Fraction(exponent.numerator), work)
    if base == 0:
        if exponent <= 0:
            raise Undefined("zero to a power that is not positive")
        return base
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) != 1 and abs(exponent) * (size - (size > 1)) > MAX_BITS:
        raise TooBig("a power of too many digits")
    if abs(base) == 1:
        return base if exponent.numerator % 2 else Fraction(1)
    work.spend(1 + int(abs(exponent) * size) // 2_000)
    return base ** int(exponent)


def _root(value: Fraction, degree: int, work: Work) -> Fraction | None:
    if value < 0 or degree > 64:
        return None
    work.spend(10)
    top, bottom = (
        _integer_root(n, degree) for n in (value.numerator, value.denominator)
    )
    return None if top is None or bottom is None else Fraction(top, bottom)


def _integer_root(value: int, degree: int) -> int | None:
    if value.bit_length() > 20_000:
        raise TooBig("a root of too many digits")
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def factorial(value: Fraction, work: Work) -> Fraction:
    """n! for a natural number of at most MAX_FACTORIAL."""
    if value.denominator != 1 or value < 0:
        raise Undefined("the factorial of what is no natural number")
    if value > MAX_FACTORIAL:
        raise TooBig("a factorial of too many digits")
    work.spend(1 + int(value))
    return Fraction(math.factorial(int(value)))


def _function(node: Node, work: Work, env: Mapping[str, Fraction]) -> Fraction | None:
    name = node[1]
    args = [rational(child, work, env) for child in node[2:]]
    if any(a is None for a in args):
        return None
    values = [a for a in args if a is not None]
    whole = all(v.denominator == 1 for v in values)
    if name == "abs":
        return abs(values[0])
    if name in ("floor", "ceil"):
        return Fraction(
            math.floor(values[0]) if name == "floor" else math.ceil(values[0])
        )
    if name == "max" or name == "min":
        return max(values) if name == "max" else min(values)
    if name in ("gcd", "lcm") and whole:
        function = math.gcd if name == "gcd" else math.lcm
        return Fraction(function(*(int(v) for v in values)))
    if name == "binom" and whole:
        n, k = values
        if n < 0:
            return None
        if n > MAX_FACTORIAL:
            raise TooBig("a binomial of too many digits")
        work.spend(1 + int(n))
        return Fraction(math.comb(int(n), int(k)) if 0 <= k else 0)
    if name == "root" and values[1].denominator == 1 and 0 < values[1] <= 64:
        degree = int(values[1])
        sign = -1 if values[0] < 0 and degree % 2 else 1
        found = _root(sign * values[0], degree, work)
        return None if found is None else sign * found
    return None


def series_sum(node: Node, work: Work) -> Node | None:
    r"""a / (1 - q) for a sum to infinity whose terms are a, a q, a q^2, .., |q| < 1.

    The ratio has to be rational. None for sums of other kinds.
    """
    work.spend(50)
    found = series.first_and_ratio(node)
    ratio = rational(found[1], work, {}) if found else None
    low = rational(node[3], work, {})
    if found is None or ratio is None or low is None or low.denominator != 1:
        return None
    if abs(ratio) >= 1:
        raise Undefined("a series that does not converge")
    return ("div", found[0], ("num", 1 - ratio))


def _big(node: Node, work: Work, env: Mapping[str, Fraction]) -> Fraction | None:
    closed = series_sum(node, work)
    if closed is not None:
        return rational(closed, work, env)
    _, name, variable, low_node, high_node, body = node
    low, high = (rational(n, work, env) for n in (low_node, high_node))
    if low is None or high is None:
        return None
    if low.denominator != 1 or high.denominator != 1:
        raise Undefined("limits that are no integers")
    if high - low >= MAX_TERMS:
        raise TooBig("too many terms")
    total = Fraction(name == "prod")
    for k in range(int(low), int(high) + 1):
        value = rational(body, work, {**env, variable: Fraction(k)})
        if value is None:
            return None
        total = total + value if name == "sum" else total * value
        _bounded(total, work)
    return total
