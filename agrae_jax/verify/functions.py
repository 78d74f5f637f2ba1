r"""How the arguments of named functions are read: \sin^2 2x, \log_2 8, \sum_{k=1}^n."""

from __future__ import annotations

from typing import Any

from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
_INVERSES = {n: "arc" + n for n in ("sin", "cos", "tan", "cot", "sec", "csc")}


def read(parser: Any, name: str) -> Node:
    """Reads what follows a function name; `parser` is the one of parse.py."""
    if name == "frac":
        return ("div", parser.tex_argument(), parser.tex_argument())
    if name == "binom":
        return ("fn", "binom", parser.tex_argument(), parser.tex_argument())
    if name == "sqrt":
        return _root(parser)
    if name == "rootof":  # the sign, which is not limited to one digit
        return ("pow", parser.primary(), _HALF)
    if name in ("sum", "prod"):
        return _big(parser, name)
    base = None
    if name == "log" and parser.take("_"):
        base = parser.tex_argument(power=True)
    exponent = None
    if parser.take("^"):
        exponent = parser.exponent()
    if name == "log" and base is None and parser.take("_"):
        base = parser.tex_argument(power=True)
    args = _arguments(parser)
    if exponent == ("mul", ("num", -1), ("num", 1)) and name in _INVERSES:
        return ("fn", _INVERSES[name], *args)
    if len(args) > 1 and name not in ("gcd", "lcm", "max", "min"):
        raise NotUnderstood(f"{name} of several arguments")
    if base is not None:
        args = (*args, base)
    node = ("fn", name, *args)
    return node if exponent is None else ("pow", node, exponent)


_HALF = ("div", ("num", 1), ("num", 2))


def _root(parser: Any) -> Node:
    degree = None
    if parser.take("["):
        degree = parser.sum()
        parser.need("]")
    if parser.take("("):
        inside = parser.group("(")
    else:
        inside = parser.tex_argument()
    if degree is None:
        return ("pow", inside, _HALF)
    return ("fn", "root", inside, degree)


def _arguments(parser: Any) -> tuple[Node, ...]:
    if parser.op("("):
        node = parser.power()
        return node[3] if node[0] == "bracket" else (node,)
    if parser.op("-"):
        parser.at += 1
        return (("mul", ("num", -1), parser.power()),)
    node = parser.power()
    while parser.starts_factor() and parser.peek().kind in (
        "num",
        "sym",
        "const",
        "fn",
    ):
        token = parser.peek()
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
    return ("big", name, variable[1], low, high, parser.term())
