"""Which set of real numbers an interval, inequality, union or condition describes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from agrae_jax.verify import equality, trees
from agrae_jax.verify.exact import Work, rational
from agrae_jax.verify.pieces import (
    REALS,
    Pieces,
    complement,
    intersect,
    points,
    tidy,
)
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
ORDERS = frozenset(["<", ">", "<=", ">="])
_ZERO = ("num", 0)


def is_interval(node: Node) -> bool:
    """Whether brackets can only mean an interval: mixed, square or with infinity."""
    if node[0] != "bracket" or len(node[3]) != 2:
        return False
    square = node[1] == "[" or node[2] == "]"
    return square or any(trees.infinite(item) for item in node[3])


def is_region(node: Node) -> bool:
    """Whether a tree is a set of reals, whatever it is compared with."""
    tag = node[0]
    if tag in ("union", "inter", "minus", "such") or is_interval(node):
        return True
    return tag == "const" and node[1].startswith("set")


def is_inequality(node: Node) -> bool:
    """Whether a tree is an order relation, or a list with one in it."""
    if node[0] == "rel":
        return any(o in ORDERS or o == "!=" for o in node[1])
    return node[0] == "list" and any(is_inequality(i) for i in node[1])


def region(node: Node, work: Work) -> Pieces:
    """The set that a tree describes; raises NotUnderstood if it describes none."""
    tag = node[0]
    if tag == "bracket" and len(node[3]) == 2:
        low, high = node[3]
        return _interval(low, node[1] == "[", high, node[2] == "]", work)
    if tag == "set":
        return points([v for item in node[1] for v in trees.spread(item)], work)
    if tag == "const" and node[1] in ("setR", "setR+", "setR-"):
        if node[1] == "setR":
            return REALS
        ends = (_ZERO, None) if node[1] == "setR+" else (None, _ZERO)
        return ((ends[0], False, ends[1], False),)
    if tag == "union":
        return tidy(region(node[1], work) + region(node[2], work), work)
    if tag == "inter":
        return intersect(region(node[1], work), region(node[2], work), work)
    if tag == "minus":
        return intersect(region(node[1], work), complement(_part(node[2], work), work),
                         work)  # fmt: skip
    if tag == "add" and len(node) == 3 and node[2][0] == "mul":  # [0, 3] - {1}
        if len(node[2]) == 3 and node[2][2][0] in ("set", "bracket", "union"):
            return region(("minus", node[1], node[2][2]), work)
    if tag == "such":
        return _such(node, work)
    if tag == "rel":
        return _relation(node, work)
    if tag == "list":
        return _list(node, work)
    raise NotUnderstood("no set of numbers")


def _part(node: Node, work: Work) -> Pieces:
    """As `region`, but a bare number is the set of it: R without 5."""
    if node[0] in ("num", "mul", "div", "add", "pow", "pm"):
        return points(trees.spread(node), work)
    return region(node, work)


def _interval(
    low: Node, low_closed: bool, high: Node, high_closed: bool, work: Work
) -> Pieces:
    below, above = trees.infinite(low), trees.infinite(high)
    if below > 0 or above < 0 or (below and low_closed) or (above and high_closed):
        raise NotUnderstood("an interval that closes at infinity")
    start, end = None if below else low, None if above else high
    if start is not None and end is not None:
        if not trees.variables(start) | trees.variables(end):
            if equality.order(start, end, work) > 0:
                raise NotUnderstood("an interval whose ends are swapped")
    return ((start, low_closed, end, high_closed),)


def _such(node: Node, work: Work) -> Pieces:
    _, element, condition = node
    base = REALS
    if element[0] == "rel" and element[1] == ("in",):
        base = region(element[2][1], work)
    elif element[0] != "sym":
        raise NotUnderstood("a set of more than numbers")
    return intersect(base, region(condition, work), work)


def _list(node: Node, work: Work) -> Pieces:
    """Conditions: "and" intersects, "or" unites, a comma does what is not empty.

    "(0, 1) and (2, 3)" are two intervals of one set.
    """
    _, items, separators = node
    excluded = _excluded(items)
    if excluded is not None:
        return complement(points(excluded, work), work)
    total = region(items[0], work)
    conditions = all(i[0] == "rel" for i in items)
    for separator, item in zip(separators, items[1:], strict=True):
        part = region(item, work)
        both = intersect(total, part, work) if separator != "or" else ()
        if (
            both
            and (conditions or separator == "and")
            or (conditions and separator == "and")
        ):
            total = both
        else:
            total = tidy(total + part, work)
    return total


def _excluded(items: tuple[Node, ...]) -> list[Node] | None:
    """x != 1, 2 and x != 1, x != 2 exclude both."""
    first = items[0]
    if first[0] != "rel" or first[1] != ("!=",):
        return None
    values: list[Node] = []
    for item in items:
        if item[0] != "rel":
            values += trees.spread(item)
        elif item[1] == ("!=",) and item[2][0] == first[2][0]:
            values += trees.spread(item[2][1])
        else:
            return None
    return values


def _relation(node: Node, work: Work) -> Pieces:
    _, operators, members = node
    if operators == ("in",):
        if members[0][0] not in ("sym", "app"):
            raise NotUnderstood("membership of an expression")
        return region(members[1], work)
    if len(members) == 3:
        low, high = members[0], members[2]
        if operators[0] in (">", ">="):
            low, high = high, low
            operators = tuple(
                FLIPPED[o] if o in FLIPPED else o for o in operators[::-1]
            )
        if any(o not in ("<", "<=") for o in operators):
            raise NotUnderstood("no interval")
        if members[1][0] in ("sym", "app"):
            return _interval(
                low, operators[0] == "<=", high, operators[1] == "<=", work
            )
        left = _linear(operators[0], low, members[1], work)
        return intersect(left, _linear(operators[1], members[1], high, work), work)
    if len(members) != 2:
        raise NotUnderstood("a chain of relations")
    return _linear(operators[0], members[0], members[1], work)


def _linear(operator: str, left: Node, right: Node, work: Work) -> Pieces:
    """Solves a relation that is linear in its one letter, or in |such a thing|."""
    if operator not in FLIPPED:
        raise NotUnderstood("no inequality")
    if left[0] != "sym" and (right[0] == "sym" or right[:2] == ("fn", "abs")):
        left, right, operator = right, left, FLIPPED[operator]
    if left[0] in ("sym", "app") and not _shares(left, right):
        ends = trees.spread(right) if operator in ("=", "!=") else [right]
    elif left[0] == "fn" and left[1] == "abs" and not trees.variables(right):
        return _absolute(operator, left[2], right, work)
    else:
        left = trees.difference(left, right)
        names = trees.variables(left)
        if len(names) != 1:
            raise NotUnderstood("an inequality of several letters")
        name = names.pop()
        if operator in ("=", "!="):
            roots = _square_roots(left, name, work)
            if roots is not None:
                found = points(roots, work)
                return found if operator == "=" else complement(found, work)
        slope, constant = _line(left, name, work)
        if equality.order(slope, _ZERO, work) < 0:
            operator = FLIPPED[operator]
        ends = [trees.negated(("div", constant, slope))]
    if operator in ("=", "!="):
        found = points(ends, work)
        return found if operator == "=" else complement(found, work)
    end, closed = ends[0], operator in ("<=", ">=")
    if trees.infinite(end):
        raise NotUnderstood("a comparison with infinity")
    if operator in ("<", "<="):
        return ((None, False, end, closed),)
    return ((end, closed, None, False),)


def _square_roots(node: Node, name: str, work: Work) -> list[Node] | None:
    """The real roots of a x^2 + b x + c, a not 0; None for another expression."""
    at = [trees.substitute(node, name, ("num", k)) for k in (0, 1, -1)]
    values = [rational(value, work, {}) for value in at]
    if None in values:
        return None
    c, plus, minus = (value or Fraction(0) for value in values)
    a, b = (plus + minus) / 2 - c, (plus - minus) / 2
    x = ("sym", name)
    square = ("mul", ("num", a), x, x)
    parabola = ("add", square, ("mul", ("num", b), x), ("num", c))
    if a == 0 or not equality.equal(node, parabola, work):
        return None
    room = b * b - 4 * a * c
    root = ("pow", ("num", abs(room)), ("div", ("num", 1), ("num", 2)))
    ends = [("add", ("num", -b), ("mul", ("num", s), root)) for s in (1, -1)]
    return [("div", end, ("num", 2 * a)) for end in ends] if room >= 0 else []


def _shares(left: Node, right: Node) -> bool:
    return bool(trees.variables(left) & trees.variables(right))


def _absolute(operator: str, inside: Node, bound: Node, work: Work) -> Pieces:
    if equality.order(bound, _ZERO, work) <= 0:
        raise NotUnderstood("an absolute value below zero")
    upper = _linear(operator, inside, bound, work)
    lower = _linear(FLIPPED[operator], inside, trees.negated(bound), work)
    if operator in (">", ">=", "="):
        return tidy(upper + lower, work)
    return intersect(upper, lower, work)


def _line(node: Node, name: str, work: Work) -> tuple[Node, Node]:
    """Slope and constant of an expression that is linear in a letter."""
    at = {k: trees.substitute(node, name, ("num", k)) for k in (0, 1, 2, 5)}
    slope = trees.difference(at[1], at[0])
    for k in (2, 5):
        line = ("add", at[0], ("mul", ("num", k), slope))
        if not equality.equal(at[k], line, work):
            raise NotUnderstood("an inequality that is not linear")
    if equality.equal(slope, _ZERO, work):
        raise NotUnderstood("an inequality without its letter")
    return slope, at[0]
