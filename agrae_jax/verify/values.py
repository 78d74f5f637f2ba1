"""The numerical value of an expression at a point, to many digits, bounded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from agrae_jax.verify import matrices, trees
from agrae_jax.verify.exact import (
    MAX_FACTORIAL,
    MAX_TERMS,
    Work,
    rational,
    series_sum,
)
from agrae_jax.verify.symbolic import mp
from agrae_jax.verify.types import NotUnderstood, TooBig, Undefined

Node = tuple[Any, ...]
GUARD = 15  # digits computed beyond those compared
LOG_BASE = "\\log base"  # in an environment: what \log without a base means
_MAX_LOG10 = 20_000.0
_MAX_ANGLE = 1e12
_CIRCULAR = frozenset("sin cos tan cot sec csc cis".split())
_HYPERBOLIC = frozenset("sinh cosh tanh coth".split())
_INVERSE = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot",
    "arcsec": "asec", "arccsc": "acsc",
}  # fmt: skip
_LOGS = {"ln": None, "lg": 10}


class Invisible(Exception):
    """A term is too small beside another to be seen at this precision."""


def pseudo(name: str) -> Any:
    """A fixed number between 0.4 and 2.6 that depends on the name alone."""
    digest = hashlib.sha256(name.encode()).digest()
    return mp().mpf("0.4") + mp().mpf(int.from_bytes(digest[:16], "big")) * 2.2 / 2**128


def is_zero(value: Any) -> bool:
    """Whether a value cannot be told from zero at this precision."""
    m = mp()
    return abs(value) < m.mpf(10) ** (GUARD - m.dps)


def evaluate(node: Node, env: Mapping[str, Any], work: Work) -> Any:
    """The value at a point, to the working precision of mpmath.

    Letters that `env` lacks get a fixed value of their own. Raises Undefined, TooBig,
    Invisible, or NotUnderstood for what is no expression.
    """
    work.spend()
    tag = node[0]
    m = mp()
    if tag == "num":
        return m.mpf(node[1].numerator) / node[1].denominator
    if tag == "sym":
        return _letter(node[1], env)
    if tag == "const":
        if node[1] == "pi":
            return +m.pi
        raise Undefined("infinity is no number")
    if tag == "add":
        return _sum([evaluate(c, env, work) for c in node[1:]])
    if tag == "mul":
        total = m.mpf(1)
        for child in node[1:]:
            total *= evaluate(child, env, work)
        return _sized(total)
    if tag == "div":
        top, bottom = (evaluate(c, env, work) for c in node[1:])
        if is_zero(bottom):
            raise Undefined("a division by zero")
        return _sized(top / bottom)
    if tag == "pow":
        return _power(evaluate(node[1], env, work), node[2], env, work)
    if tag == "pct":
        return evaluate(node[1], env, work) / 100
    if tag == "qty" and node[2] == "^\\circ":
        return evaluate(node[1], env, work) * m.pi / 180
    if tag == "fact":
        return _gamma(evaluate(node[1], env, work) + 1)
    if tag == "app":
        args = [m.nstr(evaluate(c, env, work), 25) for c in node[2:]]
        return pseudo(f"{node[1]}({','.join(args)})")
    if tag == "fn":
        return _function(node, env, work)
    if tag == "big":
        return _big(node, env, work)
    if tag == "mod":
        return _remainder(*(evaluate(c, env, work) for c in node[1:]))
    raise NotUnderstood("no expression")


def _letter(name: str, env: Mapping[str, Any]) -> Any:
    if name in env:
        return env[name]
    if name == "i":
        return mp().mpc(0, 1)
    return +mp().e if name == "e" else pseudo(name)


def _sized(value: Any) -> Any:
    m = mp()
    if not m.isfinite(value):
        raise Undefined("no finite value")
    if value and abs(m.mag(value)) > _MAX_LOG10 * 3.3:
        raise TooBig("beyond the range of numbers")
    return value


def _sum(values: list[Any]) -> Any:
    m = mp()
    threshold = max(abs(v) for v in values) * m.mpf(10) ** (GUARD - m.dps)
    if any(v and abs(v) < threshold for v in values):
        raise Invisible
    return m.fsum(values)


def _power(base: Any, exponent_node: Node, env: Mapping[str, Any], work: Work) -> Any:
    m = mp()
    exact = rational(exponent_node, work, {})
    if is_zero(base):
        if exact is not None and exact > 0:
            return m.mpf(0)
        raise Undefined("a power of zero")
    if exact is not None:
        exponent = m.mpf(exact.numerator) / exact.denominator
    else:
        exponent = evaluate(exponent_node, env, work)
    size = abs(exponent) * (abs(m.mag(base)) + 1)
    if abs(exponent) > 10**9 or size > 3.3 * _MAX_LOG10:
        raise TooBig("a power beyond the range of numbers")
    if exact is not None and exact.denominator == 1:
        return _sized(base ** int(exact))
    return _sized(m.power(base, exponent))


def _gamma(value: Any) -> Any:
    m = mp()
    if m.im(value) or abs(value) > MAX_FACTORIAL:
        raise TooBig("a factorial out of range")
    value = m.re(value)
    if value < 0.5 and is_zero(value - m.nint(value)):
        raise Undefined("the factorial of a negative number")
    return m.gamma(value)


def _remainder(left: Any, right: Any) -> Any:
    m = mp()
    if is_zero(right) or m.im(left) or m.im(right):
        raise Undefined("a remainder by zero")
    return left - right * m.floor(left / right)


def _function(node: Node, env: Mapping[str, Any], work: Work) -> Any:
    m = mp()
    name = node[1]
    if name == "det":
        return evaluate(matrices.determinant(node[2]), env, work)
    if name not in _CIRCULAR:
        exact = rational(node, work, {})
        if exact is not None:
            return m.mpf(exact.numerator) / exact.denominator
    args = [evaluate(c, env, work) for c in node[2:]]
    x = args[0]
    work.spend(20)
    if name in ("log", *_LOGS):
        return _logarithm(name, args, env)
    if name == "root":
        degree = rational(node[3], work, {})
        odd = degree is not None and degree.denominator == 1 and degree % 2 == 1
        if odd and not m.im(x) and x < 0:  # the real root of a negative number
            return -_power(-x, ("div", ("num", 1), node[3]), env, work)
        return _power(x, ("div", ("num", 1), node[3]), env, work)
    if name == "abs":
        return abs(x)
    if name in ("floor", "ceil"):
        if m.im(x):
            raise Undefined("complex numbers have no order")
        if is_zero(x - m.nint(x)):
            raise Invisible
        return m.floor(x) if name == "floor" else m.ceil(x)
    if name in ("max", "min"):
        if any(m.im(a) for a in args):
            raise Undefined("complex numbers have no order")
        return max(args) if name == "max" else min(args)
    if name == "binom":
        if any(m.im(v) or abs(v) > MAX_FACTORIAL for v in args):
            raise TooBig("a binomial out of range")
        return m.binomial(*args)
    return _elementary(name, x)


def _logarithm(name: str, args: list[Any], env: Mapping[str, Any]) -> Any:
    m = mp()
    base = args[1] if len(args) > 1 else _LOGS.get(name) or env.get(LOG_BASE) or m.e
    if name == "ln":
        base = m.e
    if is_zero(args[0]) or is_zero(base) or is_zero(base - 1):
        raise Undefined("a logarithm that does not exist")
    return m.log(args[0]) / m.log(base)


def _elementary(name: str, x: Any) -> Any:
    m = mp()
    if name in _INVERSE:
        if is_zero(x) and name in ("arccot", "arcsec", "arccsc"):
            raise Undefined(f"{name} of zero")
        return getattr(m, _INVERSE[name])(x)
    if abs(x) > (_MAX_ANGLE if name in _CIRCULAR else _MAX_LOG10):
        raise TooBig("an argument out of range")
    if abs(m.im(x)) > _MAX_LOG10:
        raise TooBig("an argument out of range")
    if name in ("exp", "cis"):
        return m.exp(x) if name == "exp" else m.expj(x)
    if name in ("tan", "sec") and is_zero(m.cos(x)):
        raise Undefined("a pole")
    if name in ("cot", "csc") and is_zero(m.sin(x)) or name == "coth" and is_zero(x):
        raise Undefined("a pole")
    if name in _CIRCULAR or name in _HYPERBOLIC:
        return getattr(m, name)(x)
    raise NotUnderstood(f"the function {name}")


def _limit(node: Node, env: Mapping[str, Any], work: Work) -> int:
    value: Any = rational(node, work, {})
    if value is None:
        value = evaluate(node, env, work)
    if abs(value) > 10**9:
        raise TooBig("too many terms")
    whole = int(mp().nint(mp().re(value))) if not isinstance(value, Fraction) else value
    if value != whole or int(whole) != whole:
        raise Undefined("a sum whose limits are no integers")
    return int(whole)


def _indexed(node: Node, variable: str, k: int) -> Node:
    """The term with a_k as a_3; what else hangs on the index has no value here."""
    if node[0] == "sym" and "_" in node[1]:
        name, _, index = node[1].partition("_")
        if index == variable:
            return ("sym", f"{name}_{k}")
        if variable in index:
            raise Undefined("an index that is computed")
        return node
    return trees.rebuild(node, lambda child: _indexed(child, variable, k))


def _big(node: Node, env: Mapping[str, Any], work: Work) -> Any:
    closed = series_sum(node, work)
    if closed is not None:
        return evaluate(closed, env, work)
    m = mp()
    _, name, variable, low_node, high_node, body = node
    low, high = (_limit(n, env, work) for n in (low_node, high_node))
    if high - low >= MAX_TERMS:
        raise TooBig("too many terms")
    total = m.mpf(name == "prod")
    for k in range(low, high + 1):
        term = _indexed(body, variable, k)
        value = evaluate(term, {**env, variable: m.mpf(k)}, work)
        total = total + value if name == "sum" else total * value
    return total
