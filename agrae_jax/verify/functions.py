r"""How the arguments of named functions are read: \sin^2 2x, \log_2 8, \sum_{k=1}^n."""

from __future__ import annotations

from typing import Any

from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
_INVERSES = {n: "arc" + n for n in ("sin", "cos", "tan", "cot", "sec", "csc")}
_HALF = ("div", ("num", 1), ("num", 2))
_OF_SEVERAL = ("gcd", "lcm", "max", "min")


def read(parser: Any, name: str) -> Node:
    """Reads what follows a function name; `parser` is that of expressions.py."""
    if name == "frac":
        return ("div", parser.tex_argument(), parser.tex_argument())
    if name == "binom":
        return ("fn", "binom", parser.tex_argument(), parser.tex_argument())
    if name == "sqrt":
        return _root(parser)
    if name == "rootof":  # the sign, which is not limited to one digit
        return ("pow", parser.primary(), _HALF)
    if name == "cuberootof":
        return ("fn", "root", parser.primary(), ("num", 3))
    if name in ("sum", "prod"):
        return _big(parser, name)
    base = exponent = None
    for _ in range(2):
        if name == "log" and parser.take("_"):
            base = parser.exponent()
        elif parser.take("^"):
            exponent = parser.exponent()
    args = _arguments(parser)
    if exponent == ("mul", ("num", -1), ("num", 1)) and name in _INVERSES:
        return ("fn", _INVERSES[name], *args)
    if len(args) > 1 and name not in _OF_SEVERAL:
        raise NotUnderstood(f"{name} of several arguments")
    node = ("fn", name, *args) if base is None else ("fn", name, *args, base)
    return node if exponent is None else ("pow", node, exponent)


def _root(parser: Any) -> Node:
    degree = None
    if parser.take("["):
        degree = parser.sum()
        parser.need("]")
    inside = parser.group("(") if parser.take("(") else parser.tex_argument()
    if inside[0] in ("list", "bracket", "set"):
        raise NotUnderstood("a root of several values")
    return ("pow", inside, _HALF) if degree is None else ("fn", "root", inside, degree)


def _arguments(parser: Any) -> tuple[Node, ...]:
    r"""A bracket, or the factors up to the next sign or function: \sin 2x \cos x."""
    if parser.op("("):
        node = parser.power()
        return node[3] if node[0] == "bracket" else (node,)
    if parser.take("-"):
        return (("mul", ("num", -1), parser.power()),)
    node = parser.power()
    while parser.starts_factor():
        token = parser.peek()
        if token.kind not in ("num", "sym", "const", "fn"):
            break
        if token.kind == "fn" and token.value not in ("frac", "sqrt"):
            break
        node = parser.mixed(node) or ("mul", node, parser.power())
    return (node,)


def _big(parser: Any, name: str) -> Node:
    variable = low = high = None
    for _ in range(2):
        if parser.take("_"):
            parser.need("{")
            variable = parser.primary()
            parser.need("=")
            low = parser.sum()
            parser.need("}")
        elif parser.take("^"):
            high = parser.exponent()
    if variable is None or variable[0] != "sym" or high is None:
        raise NotUnderstood(f"\\{name} without limits")
    return ("big", name, variable[1], low, high, parser.product())
