"""Sets of real numbers: intervals, inequalities, unions, all as one sorted form.

A set is a tuple of pieces (low, low_closed, high, high_closed); None as an end means
infinity. Ends are expressions and are compared by value.
"""

from __future__ import annotations

from typing import Any

from agrae_jax.verify import symbolic
from agrae_jax.verify.exact import Work
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
Piece = tuple[Node | None, bool, Node | None, bool]
REALS: tuple[Piece, ...] = ((None, False, None, False),)
_FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_MAX_PIECES = 24


def infinite(node: Node) -> int:
    """1 or -1 for plus or minus infinity, else 0."""
    if node == ("const", "inf"):
        return 1
    if node[0] == "mul" and len(node) == 3 and node[2] == ("const", "inf"):
        return -1 if node[1][0] == "num" and node[1][1] < 0 else 0
    return 0


def is_interval(node: Node) -> bool:
    """Whether brackets can only mean an interval: mixed, square or with infinity."""
    if node[0] != "bracket" or len(node[3]) != 2:
        return False
    square = node[1] == "[" or node[2] == "]"
    return square or any(infinite(item) for item in node[3])


def is_region(node: Node) -> bool:
    """Whether a tree is surely a set of reals, whatever it is compared with."""
    tag = node[0]
    if tag in ("union", "inter", "minus", "such") or is_interval(node):
        return True
    return tag == "const" and node[1].startswith("set")


def region(node: Node, work: Work) -> tuple[Piece, ...]:
    """The set that a tree describes; raises NotUnderstood if it describes none."""
    tag = node[0]
    if tag == "bracket" and len(node[3]) == 2:
        low, high = node[3]
        return _piece(low, node[1] == "[", high, node[2] == "]", work)
    if tag == "set":
        pieces = tuple((p, True, p, True) for p in node[1])
        return tidy(pieces, work)
    if tag == "const" and node[1] == "setR":
        return REALS
    if tag == "union":
        return tidy(region(node[1], work) + region(node[2], work), work)
    if tag == "inter":
        return _intersect(region(node[1], work), region(node[2], work), work)
    if tag == "minus":
        other = _complement(region(node[2], work), work)
        return _intersect(region(node[1], work), other, work)
    if tag == "such":
        return _such(node, work)
    if tag == "rel":
        return _relation(node, work)
    if tag == "list":
        return _list(node, work)
    raise NotUnderstood("no set of numbers")


def same(left: tuple[Piece, ...], right: tuple[Piece, ...], work: Work) -> bool:
    """Equality of two tidy sets."""
    return len(left) == len(right) and all(
        a[1] == b[1]
        and a[3] == b[3]
        and _same_end(a[0], b[0], work)
        and _same_end(a[2], b[2], work)
        for a, b in zip(left, right, strict=True)
    )


def _same_end(left: Node | None, right: Node | None, work: Work) -> bool:
    if left is None or right is None:
        return left is right
    return symbolic.equal(left, right, work)


def _piece(
    low: Node, low_closed: bool, high: Node, high_closed: bool, work: Work
) -> tuple[Piece, ...]:
    below, above = infinite(low), infinite(high)
    if below > 0 or above < 0 or (below and low_closed) or (above and high_closed):
        raise NotUnderstood("an interval that closes at infinity")
    start, end = None if below else low, None if above else high
    if start is not None and end is not None:
        if not (symbolic.variables(start) or symbolic.variables(end)):
            if symbolic.order(start, end, work) > 0:
                raise NotUnderstood("an interval whose ends are swapped")
    return ((start, low_closed, end, high_closed),)


def _such(node: Node, work: Work) -> tuple[Piece, ...]:
    _, element, condition = node
    base = REALS
    if element[0] == "rel" and element[1] == ("in",):
        base = region(element[2][1], work)
    elif element[0] != "sym":
        raise NotUnderstood("a set of more than numbers")
    return _intersect(base, region(condition, work), work)


def _list(node: Node, work: Work) -> tuple[Piece, ...]:
    _, items, separators = node
    excluded = _excluded(items)
    if excluded is not None:
        return _complement(
            tidy(tuple((e, True, e, True) for e in excluded), work), work
        )
    total = region(items[0], work)
    for separator, item in zip(separators, items[1:], strict=True):
        part = region(item, work)
        if separator == "or":
            total = tidy(total + part, work)
        elif separator == "and" or _ranges(items):
            total = _intersect(total, part, work)
        else:
            total = tidy(total + part, work)
    return total


def _excluded(items: tuple[Node, ...]) -> list[Node] | None:
    """x != 1, 2 and x != 1, x != 2 exclude both."""
    first = items[0]
    if first[0] != "rel" or first[1] != ("!=",):
        return None
    values = []
    for item in items:
        if item[0] == "rel":
            if item[1] != ("!=",) or item[2][0] != first[2][0]:
                return None
            values += spread(item[2][1])
        else:
            values += spread(item)
    return values


def _ranges(items: tuple[Node, ...]) -> bool:
    return all(i[0] == "rel" for i in items)


def _relation(node: Node, work: Work) -> tuple[Piece, ...]:
    _, operators, members = node
    if operators == ("in",):
        if members[0][0] not in ("sym", "app"):
            raise NotUnderstood("membership of an expression")
        return region(members[1], work)
    if len(members) == 3:
        low, high = members[0], members[2]
        if operators[0] in (">", ">="):
            low, high, operators = high, low, operators[::-1]
            operators = tuple(_FLIP[o] for o in operators)
        if any(o not in ("<", "<=") for o in operators) or members[1][0] != "sym":
            raise NotUnderstood("no interval")
        return _piece(low, operators[0] == "<=", high, operators[1] == "<=", work)
    if len(members) != 2:
        raise NotUnderstood("a chain of relations")
    return _linear(operators[0], members[0], members[1], work)


def _linear(operator: str, left: Node, right: Node, work: Work) -> tuple[Piece, ...]:
    """Solves a relation that is linear in its one variable."""
    if operator not in _FLIP:
        raise NotUnderstood("no inequality")
    if left[0] != "sym" and right[0] == "sym":
        left, right, operator = right, left, _FLIP[operator]
    if left[0] == "sym" and not symbolic.variables(right) & {left[1]}:
        ends = spread(right) if operator in ("=", "!=") else [right]
    else:
        names = symbolic.variables(left) | symbolic.variables(right)
        if len(names) != 1:
            raise NotUnderstood("an inequality of several letters")
        name = names.pop()
        slope, constant = _line(("add", left, ("mul", ("num", -1), right)), name, work)
        if symbolic.order(slope, ("num", 0), work) < 0:
            operator = _FLIP[operator]
        ends = [("mul", ("num", -1), ("div", constant, slope))]
    if operator in ("=", "!="):
        points = tidy(tuple((e, True, e, True) for e in ends), work)
        return points if operator == "=" else _complement(points, work)
    end, closed = ends[0], operator in ("<=", ">=")
    if infinite(end):
        raise NotUnderstood("a comparison with infinity")
    if operator in ("<", "<="):
        return ((None, False, end, closed),)
    return ((end, closed, None, False),)


def _line(node: Node, name: str, work: Work) -> tuple[Node, Node]:
    at = [symbolic.substitute(node, name, ("num", k)) for k in (0, 1, 2, 5)]
    slope = ("add", at[1], ("mul", ("num", -1), at[0]))
    for value, k in ((at[2], 2), (at[3], 5)):
        line = ("add", at[0], ("mul", ("num", k), slope))
        if not symbolic.equal(value, line, work):
            raise NotUnderstood("an inequality that is not linear")
    if symbolic.equal(slope, ("num", 0), work):
        raise NotUnderstood("an inequality without its letter")
    return slope, at[0]


def spread(node: Node) -> list[Node]:
    """The values of an expression with plus-minus signs: both, or itself."""
    if not symbolic.contains(node, "pm", "mp"):
        return [node]
    return [_signed(node, 1), _signed(node, -1)]


def _signed(node: Node, sign: int) -> Node:
    if node[0] in ("pm", "mp"):
        inside = _signed(node[1], sign)
        negative = (node[0] == "pm") == (sign < 0)
        return ("mul", ("num", -1), inside) if negative else inside
    return tuple(
        _signed(c, sign) if isinstance(c, tuple) and c and isinstance(c[0], str) else c
        for c in node
    )


# -- algebra of sets ------------------------------------------------------------------
def _before(a: Node | None, b: Node | None, low: bool, work: Work) -> int:
    if a is None or b is None:
        return 0 if a is b else (-1 if a is None else 1) * (1 if low else -1)
    return symbolic.order(a, b, work)


def tidy(pieces: tuple[Piece, ...], work: Work) -> tuple[Piece, ...]:
    """Sorted, with pieces that touch joined."""
    if len(pieces) > _MAX_PIECES:
        raise NotUnderstood("a set of too many pieces")
    rest, out = list(pieces), []
    while rest:
        first = rest[0]
        for piece in rest[1:]:
            order = _before(piece[0], first[0], True, work)
            if order < 0 or (order == 0 and piece[1] and not first[1]):
                first = piece
        rest.remove(first)
        if out and _touch(out[-1], first, work):
            last = out[-1]
            order = _before(last[2], first[2], False, work)
            high = last[2] if order >= 0 else first[2]
            closed = (
                last[3] if order > 0 else first[3] if order < 0 else last[3] or first[3]
            )
            out[-1] = (last[0], last[1], high, closed)
        else:
            out.append(first)
    return tuple(out)


def _touch(left: Piece, right: Piece, work: Work) -> bool:
    if left[2] is None or right[0] is None:
        return True
    order = symbolic.order(left[2], right[0], work)
    return order > 0 or (order == 0 and (left[3] or right[1]))


def _complement(pieces: tuple[Piece, ...], work: Work) -> tuple[Piece, ...]:
    out: list[Piece] = []
    low: Node | None = None
    closed, open_ended = False, True
    for piece in tidy(pieces, work):
        if piece[0] is not None:
            out.append((low, closed, piece[0], not piece[1]))
        low, closed = piece[2], not piece[3]
        open_ended = piece[2] is not None
    if open_ended:
        out.append((low, closed, None, False))
    return tuple(out)


def _intersect(
    left: tuple[Piece, ...], right: tuple[Piece, ...], work: Work
) -> tuple[Piece, ...]:
    if left == REALS:
        return right
    if right == REALS:
        return left
    outside = _complement(left, work) + _complement(right, work)
    return _complement(tidy(outside, work), work)
