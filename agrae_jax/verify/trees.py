"""Questions about expression trees that need no arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

Node = tuple[Any, ...]
_LEAVES = frozenset(("sym", "const", "text", "dots"))
_COMMUTATIVE = frozenset(("add", "mul"))


def children(node: Node) -> Iterator[Node]:
    """The subtrees of a node; names, numbers and operators are skipped."""
    part: Any
    for part in node[1:]:
        if isinstance(part, tuple) and part:
            if isinstance(part[0], str):
                if part[0] == "dots" or (part[0].isalpha() and len(part) > 1):
                    yield part
            else:
                for inner in part:
                    if isinstance(inner, tuple) and inner:
                        if isinstance(inner[0], str):
                            yield inner
                        else:  # a row of a matrix
                            yield from inner


def canonical(node: Node) -> Node:
    """The tree with sums and products flattened and sorted: a key for equality."""
    tag = node[0]
    if tag == "num":
        return ("num", Fraction(node[1]))
    if tag in _LEAVES:
        return node
    if tag in _COMMUTATIVE:
        parts: list[Node] = []
        for child in node[1:]:
            child = canonical(child)
            parts.extend(child[1:] if child[0] == tag else (child,))
        return (tag, *sorted(parts, key=repr))
    return tuple(_canonical_part(part) for part in node)


def _canonical_part(part: Any) -> Any:
    if not isinstance(part, tuple) or len(part) == 0:
        return part
    if isinstance(part[0], str):
        return canonical(part) if len(part) > 1 or part[0] in _LEAVES else part
    return tuple(_canonical_part(p) for p in part)


def variables(node: Node, bound: frozenset[str] = frozenset()) -> set[str]:
    """The free letters of an expression; e and i are numbers."""
    tag = node[0]
    if tag == "sym":
        return set() if node[1] in bound or node[1] in ("e", "i") else {node[1]}
    if tag == "big":
        found = variables(node[3], bound) | variables(node[4], bound)
        return found | variables(node[5], bound | {node[2]})
    found = set()
    for child in children(node):
        found |= variables(child, bound)
    return found


def counters(node: Node) -> set[str]:
    """The letters in the limits of sums and products: they stand for integers."""
    found: set[str] = set()
    if node[0] == "big":
        found |= variables(node[3]) | variables(node[4])
    for child in children(node):
        found |= counters(child)
    return found


def letters(node: Node) -> frozenset[str]:
    """The Latin letters that name something in an expression."""
    own = node[1] if node[0] in ("sym", "app") else ""
    if node[0] == "big":
        own += node[2]
    found = frozenset(c for c in own if c.isascii() and c.isalpha())
    return found.union(*(letters(child) for child in children(node)))


def contains(node: Node, *names: str) -> bool:
    """Whether a tag, function or constant of one of these names occurs."""
    if node[0] in names or (node[0] in ("fn", "const") and node[1] in names):
        return True
    return any(contains(child, *names) for child in children(node))


def substitute(node: Node, name: str, value: Node) -> Node:
    """The tree with a letter replaced by an expression."""
    if node[0] == "sym":
        return value if node[1] == name else node
    return rebuild(node, lambda child: substitute(child, name, value))


def rebuild(node: Node, change: Any) -> Node:
    """The node with `change` applied to its direct subtrees."""
    return tuple(
        change(c) if isinstance(c, tuple) and c and isinstance(c[0], str) else c
        for c in node
    )


def negated(node: Node) -> Node:
    """-node."""
    return ("mul", ("num", -1), node)


def difference(left: Node, right: Node) -> Node:
    """left - right."""
    return ("add", left, negated(right))


def infinite(node: Node) -> int:
    """1 or -1 for plus or minus infinity, else 0."""
    if node == ("const", "inf"):
        return 1
    if node[0] == "mul" and len(node) == 3 and node[2] == ("const", "inf"):
        return -1 if node[1][0] == "num" and node[1][1] < 0 else 0
    return 0


def spread(node: Node) -> list[Node]:
    """Both values of an expression with plus-minus signs, or the expression."""
    if not contains(node, "pm", "mp"):
        return [node]
    return [_signed(node, 1), _signed(node, -1)]


def _signed(node: Node, sign: int) -> Node:
    if node[0] in ("pm", "mp"):
        inside = _signed(node[1], sign)
        return negated(inside) if (node[0] == "pm") == (sign < 0) else inside
    return rebuild(node, lambda child: _signed(child, sign))
