r"""Geometric series: the one kind of infinite sum that has a value here."""

from __future__ import annotations

from typing import Any

from agrae_jax.verify import trees

Node = tuple[Any, ...]
_MAX_NODES = 100  # of a term; reading its shape takes their square
_ONE, _ZERO = ("num", 1), ("num", 0)


def first_and_ratio(node: Node) -> tuple[Node, Node] | None:
    r"""First term and ratio of \sum_{n=a}^\infty c q^{bn+d}; None for another sum.

    Read off the shape of the term, so that no two terms are trusted to show the rest.
    """
    _, name, variable, low, high, body = node
    if name != "sum" or trees.infinite(high) != 1 or _nodes(body) > _MAX_NODES:
        return None
    ratio = _ratio(body, variable)
    if ratio is None:
        return None
    return trees.substitute(body, variable, low), ratio


def _nodes(node: Node) -> int:
    return 1 + sum(map(_nodes, trees.children(node)))


def _ratio(node: Node, variable: str) -> Node | None:
    """What a term is multiplied by from one index to the next, if always the same."""
    tag = node[0]
    if variable not in trees.variables(node):
        return _ONE
    if tag in ("mul", "div"):
        ratios = [_ratio(child, variable) for child in node[1:]]
        return None if None in ratios else (tag, *ratios)
    if tag != "pow":
        return None
    base, exponent = node[1:]
    if variable in trees.variables(exponent):
        slope = _slope(exponent, variable)
        if slope is None or variable in trees.variables(base):
            return None
        return ("pow", base, slope)
    ratio = _ratio(base, variable)
    return None if ratio is None else ("pow", ratio, exponent)


def _slope(node: Node, variable: str) -> Node | None:
    """The factor of a letter in an expression that is linear by its shape."""
    if variable not in trees.variables(node):
        return _ZERO
    if node[0] == "sym":
        return _ONE
    if node[0] == "add":
        slopes = [_slope(child, variable) for child in node[1:]]
        return None if None in slopes else ("add", *slopes)
    if node[0] == "mul":
        held = [variable in trees.variables(child) for child in node[1:]]
        if sum(held) > 1:
            return None
        factors = [
            _slope(child, variable) if has else child
            for child, has in zip(node[1:], held, strict=True)
        ]
        return None if None in factors else ("mul", *factors)
    if node[0] == "div" and variable not in trees.variables(node[2]):
        slope = _slope(node[1], variable)
        return None if slope is None else ("div", slope, node[2])
    return None
