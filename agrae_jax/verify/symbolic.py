"""Equality of expressions: the one door to mpmath and sympy.

Two expressions are equal if (1) their canonical trees are, or (2) both are rational
and equal exactly, or (3) they agree at several fixed points to 40 and again to 120
digits, with a check that no term was too small to be seen, or (4) where (3) cannot
decide, sympy reduces their difference to zero within a fixed amount of work.
Variables take positive values, as letters for quantities do; where an absolute value
or a sign is involved, negative ones as well.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from agrae_jax.verify.exact import MAX_FACTORIAL, MAX_TERMS, Work, rational
from agrae_jax.verify.types import NotUnderstood, TooBig, Undefined

Node = tuple[Any, ...]
_POINTS = 4  # that must agree
_TRIES = 12
_DIGITS = (40, 120)
_GUARD = 15
_MAX_LOG10 = 20_000.0
_TRIG = frozenset("sin cos tan cot sec csc".split())
_VARIADIC = frozenset(("add", "mul"))


class Invisible(Exception):
    """A term is too small beside another to be seen at this precision."""


def mp() -> Any:
    """mpmath, imported when first needed."""
    return importlib.import_module("mpmath").mp


# -- canonical trees ------------------------------------------------------------------
def canonical(node: Node) -> Node:
    """The tree with sums and products flattened and sorted."""
    tag = node[0]
    if tag in ("num", "sym", "const", "text", "dots"):
        return node if tag != "num" else ("num", Fraction(node[1]))
    if tag == "qty":
        return ("qty", canonical(node[1]), node[2])
    if tag in _VARIADIC:
        parts: list[Node] = []
        for child in node[1:]:
            child = canonical(child)
            parts.extend(child[1:] if child[0] == tag else (child,))
        return (tag, *sorted(parts, key=repr))
    return tuple(
        canonical(c) if isinstance(c, tuple) and c and isinstance(c[0], str)
        else tuple(canonical(d) if isinstance(d, tuple) else d for d in c)
        if isinstance(c, tuple) else c
        for c in node
    )  # fmt: skip


def variables(node: Node, bound: frozenset[str] = frozenset()) -> set[str]:
    """The free symbols of an expression; e and i are numbers."""
    tag = node[0]
    if tag == "sym":
        return set() if node[1] in bound or node[1] in ("e", "i") else {node[1]}
    if tag == "big":
        inner = bound | {node[2]}
        return (
            variables(node[3], bound) | variables(node[4], bound)
            | variables(node[5], inner)
        )  # fmt: skip
    found: set[str] = set()
    for child in node[1:]:
        if isinstance(child, tuple) and child:
            if isinstance(child[0], str):
                found |= variables(child, bound)
            else:
                for inner_node in child:
                    if isinstance(inner_node, tuple):
                        found |= variables(inner_node, bound)
    return found


def contains(node: Node, *names: str) -> bool:
    """Whether a function or tag of one of these names occurs in the tree."""
    if node[0] in names or (node[0] in ("fn", "big", "const") and node[1] in names):
        return True
    return any(
        contains(c, *names)
        for c in node[1:]
        if isinstance(c, tuple) and c and isinstance(c[0], str)
    )


def substitute(node: Node, name: str, value: Node) -> Node:
    """The tree with a symbol replaced."""
    if node[0] == "sym":
        return value if node[1] == name else node
    return tuple(
        substitute(c, name, value)
        if isinstance(c, tuple) and c and isinstance(c[0], str)
        else c
        for c in node
    )


# -- values ---------------------------------------------------------------------------
def _pseudo(name: str, low: float = 0.4, spread: float = 2.2) -> Any:
    """A fixed number in (low, low + spread) that depends on the name alone."""
    digest = hashlib.sha256(name.encode()).digest()
    return low + mp().mpf(int.from_bytes(digest[:16], "big")) / 2**128 * spread


def evaluate(node: Node, env: Mapping[str, Any], work: Work) -> Any:
    """The value at a point, to the working precision of mpmath.

    Raises Undefined, TooBig, Invisible, or NotUnderstood for what is no expression.
    """
    work.spend()
    tag = node[0]
    m = mp()
    if tag == "num":
        value = Fraction(node[1])
        return m.mpf(value.numerator) / value.denominator
    if tag == "sym":
        if node[1] in env:
            return env[node[1]]
        if node[1] == "i":
            return m.mpc(0, 1)
        if node[1] == "e":
            return +m.e
        return _pseudo(node[1])
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
        if _is_zero(bottom):
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
        return _pseudo(f"{node[1]}({','.join(args)})")
    if tag == "fn":
        return _function(node, env, work)
    if tag == "big":
        return _big(node, env, work)
    if tag == "mod":
        left, right = (evaluate(c, env, work) for c in node[1:])
        if _is_zero(right) or m.im(left) or m.im(right):
            raise Undefined("a remainder by zero")
        return left - right * m.floor(left / right)
    raise NotUnderstood(f"no expression: {tag}")


def _is_zero(value: Any) -> bool:
    m = mp()
    return abs(value) < m.mpf(10) ** (_GUARD - m.dps)


def _sized(value: Any) -> Any:
    m = mp()
    if not m.isfinite(value):
        raise Undefined("no finite value")
    if value and abs(m.log10(abs(value))) > _MAX_LOG10:
        raise TooBig("beyond the range of numbers")
    return value


def _sum(values: list[Any]) -> Any:
    m = mp()
    total = m.mpf(0)
    largest = max(abs(v) for v in values)
    for value in values:
        if value and abs(value) < largest * m.mpf(10) ** (_GUARD - m.dps):
            raise Invisible
        total += value
    return total


def _power(base: Any, exponent_node: Node, env: Mapping[str, Any], work: Work) -> Any:
    m = mp()
    exact = rational(exponent_node, work, {})
    if _is_zero(base):
        if exact is not None and exact > 0:
            return m.mpf(0)
        raise Undefined("a power of zero")
    if exact is not None and exact.denominator == 1:
        _sized_power(base, exact.numerator)
        return _sized(base ** int(exact))
    exponent = evaluate(exponent_node, env, work)
    _sized_power(base, exponent)
    return _sized(m.power(base, exponent))


def _sized_power(base: Any, exponent: Any) -> None:
    m = mp()
    if (
        abs(exponent) > 10**9
        or abs(exponent) * (abs(m.log10(abs(base))) + 1) > _MAX_LOG10
    ):
        raise TooBig("a power beyond the range of numbers")


def _gamma(value: Any) -> Any:
    m = mp()
    if m.im(value) or value > MAX_FACTORIAL or value <= 0:
        raise TooBig("a factorial out of range")
    return m.gamma(value)


def _function(node: Node, env: Mapping[str, Any], work: Work) -> Any:
    m = mp()
    name = node[1]
    if name == "det":
        from agrae_jax.verify import matrices

        return evaluate(matrices.determinant(node[2]), env, work)
    exact = rational(node, work, {}) if name not in _TRIG else None
    if exact is not None:
        return m.mpf(exact.numerator) / exact.denominator
    args = [evaluate(c, env, work) for c in node[2:]]
    x = args[0]
    work.spend(20)
    if name in ("log", "ln", "lg", "lb"):
        if _is_zero(x):
            raise Undefined("the logarithm of zero")
        if name == "log" and len(args) == 1:
            return m.log(x) / m.log(env.get("\\log base", m.e))
        base = args[1] if len(args) > 1 else {"ln": m.e, "lg": 10, "lb": 2}.get(name)
        if _is_zero(base - 1) or _is_zero(base):
            raise Undefined("a logarithm to base 1")
        return m.log(x) / m.log(base)
    if name == "exp":
        if abs(x) > _MAX_LOG10:
            raise TooBig("an exponential out of range")
        return m.exp(x)
    if name == "root":
        degree = rational(node[3], work, {})
        if (
            degree is not None
            and degree.denominator == 1
            and degree % 2
            and not m.im(x)
        ):
            return m.sign(x) * m.power(abs(x), m.mpf(1) / int(degree)) if x else x
        return _power(x, ("div", ("num", 1), node[3]), env, work)
    if name == "abs":
        return abs(x)
    if name in ("floor", "ceil"):
        if m.im(x) or _is_zero(x - m.nint(x)):
            raise Invisible
        return m.floor(x) if name == "floor" else m.ceil(x)
    if name in ("max", "min"):
        return max(args) if name == "max" else min(args)
    if name == "binom":
        n, k = args
        if any(m.im(v) or abs(v) > MAX_FACTORIAL for v in args):
            raise TooBig("a binomial out of range")
        return m.binomial(n, k)
    if abs(x) > 1e12:
        raise TooBig("an angle out of range")
    if name in ("arccot", "arcsec", "arccsc"):
        if _is_zero(x):
            raise Undefined(f"{name} of zero")
        return getattr(m, {"arccot": "acot", "arcsec": "asec", "arccsc": "acsc"}[name])(
            x
        )
    if name in ("arcsin", "arccos", "arctan"):
        return getattr(m, "a" + name[3:])(x)
    if name in ("tan", "sec") and _is_zero(m.cos(x)):
        raise Undefined("a pole")
    if name in ("cot", "csc", "coth") and _is_zero(m.sin(x)):
        raise Undefined("a pole")
    if name in _TRIG or name in ("sinh", "cosh", "tanh", "coth"):
        if abs(x) > _MAX_LOG10:
            raise TooBig("an argument out of range")
        return getattr(m, name)(x)
    raise NotUnderstood(f"the function {name}")


def _big(node: Node, env: Mapping[str, Any], work: Work) -> Any:
    m = mp()
    _, name, variable, low_node, high_node, body = node
    low, high = (rational(n, work, {}) for n in (low_node, high_node))
    if low is None or high is None:
        raise Undefined("a sum with symbolic limits")
    if high - low >= MAX_TERMS:
        raise TooBig("too many terms")
    total = m.mpf(name == "prod")
    for k in range(int(low), int(high) + 1):
        value = evaluate(body, {**env, variable: m.mpf(k)}, work)
        total = total + value if name == "sum" else total * value
    return total


# -- equality -------------------------------------------------------------------------
def equal(left: Node, right: Node, work: Work | None = None) -> bool:
    """Whether two expressions have the same value, for all values of their letters.

    Raises Undefined if an expression has no value and TooBig if that is out of reach.
    """
    work = work or Work()
    if canonical(left) == canonical(right):
        return True
    names = sorted(variables(left) | variables(right))
    if not names:
        exact = [rational(n, work, {}) for n in (left, right)]
        if exact[0] is not None and exact[1] is not None:
            return exact[0] == exact[1]
    if contains(left, "log") or contains(right, "log"):
        return any(_agree(left, right, names, work, base) for base in (None, 10))
    return _agree(left, right, names, work, None)


def _agree(
    left: Node, right: Node, names: list[str], work: Work, base: int | None
) -> bool:
    signed = contains(left, "abs") or contains(right, "abs")
    try:
        seen = 0
        for attempt in range(_TRIES if names else 1):
            try:
                if not _agree_at(left, right, names, attempt, signed, work, base):
                    return False
            except Undefined:
                continue
            seen += 1
            if seen >= _POINTS:
                break
        if seen >= (2 if names else 1):
            return True
        raise Undefined("no value at any point")
    except Invisible:
        return reduces_to_zero(("add", left, ("mul", ("num", -1), right)))


def _agree_at(
    left: Node, right: Node, names: list[str], attempt: int, signed: bool, work: Work,
    base: int | None,
) -> bool:  # fmt: skip
    m = mp()
    for digits in _DIGITS:
        with m.workdps(digits + _GUARD):
            env: dict[str, Any] = {}
            if base:
                env["\\log base"] = m.mpf(base)
            for name in names:
                value = _pseudo(f"{name}#{attempt}")
                env[name] = -value if signed and attempt % 2 else value
            a, b = (evaluate(n, env, work) for n in (left, right))
            difference = abs(a - b)
            scale = max(abs(a), abs(b))
            if difference > scale * m.mpf(10) ** (-digits):
                if scale < m.mpf(10) ** (-digits + 5):
                    raise Invisible  # both are rounding noise around zero
                return False
    return True


def ratio(left: Node, right: Node, work: Work | None = None) -> int:
    """The sign of a constant c != 0 with left = c * right everywhere; 0 if none."""
    work = work or Work()
    names = sorted(variables(left) | variables(right))
    m = mp()
    for digits in _DIGITS:
        with m.workdps(digits + _GUARD):
            first, seen = None, 0
            for attempt in range(_TRIES):
                env = {n: _pseudo(f"{n}#{attempt}") for n in names}
                try:
                    a, b = (evaluate(n, env, work) for n in (left, right))
                except (Undefined, Invisible):
                    continue
                if _is_zero(a) or _is_zero(b):
                    if _is_zero(a) and _is_zero(b):
                        continue
                    return 0
                value = a / b
                if first is None:
                    first = value
                elif abs(value - first) > abs(first) * m.mpf(10) ** (-digits):
                    return 0
                seen += 1
                if seen >= _POINTS or not names:
                    break
            if first is None or (names and seen < 2):
                raise Undefined("no value at any point")
    if m.im(first):
        return 0
    return 1 if m.re(first) > 0 else -1


def order(left: Node, right: Node, work: Work | None = None) -> int:
    """-1, 0 or 1 as one real constant is below, at or above the other."""
    if equal(left, right, work):
        return 0
    m = mp()
    with m.workdps(_DIGITS[0]):
        a, b = (evaluate(n, {}, work or Work()) for n in (left, right))
    if m.im(a) or m.im(b):
        raise Undefined("complex numbers have no order")
    return -1 if a < b else 1


def reduces_to_zero(node: Node) -> bool:
    """Whether sympy simplifies an expression to zero; False where it cannot tell."""
    from agrae_jax.verify import reduce

    return reduce.is_zero(node)
