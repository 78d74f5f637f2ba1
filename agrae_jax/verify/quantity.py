"""Equality of two single values, either of which may carry a unit or a percent sign."""

from __future__ import annotations

import itertools
from typing import Any

from agrae_jax.verify import trees, units
from agrae_jax.verify.equality import equal
from agrae_jax.verify.exact import Work, rational
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
STRUCTURES = frozenset(
    ("list", "bracket", "set", "such", "rel", "union", "inter", "minus", "matrix")
)
_PERCENT = frozenset(("percent", "pct", "per cent", "percentage", "percents"))
_PER_MILLE = frozenset(("per mille", "per mil", "permille"))
_HALF_TURN = ("div", ("const", "pi"), ("num", 180))


def same_value(gold: Node, answer: Node, work: Work) -> bool:
    """Whether an answer is the gold's value, in any form.

    A bare gold takes any unit; a gold with a unit takes the bare number, or a unit
    that converts to its own exactly.
    """
    if gold[0] in STRUCTURES or answer[0] in STRUCTURES:
        return False
    infinity = trees.infinite(gold), trees.infinite(answer)
    if any(infinity):
        return infinity[0] == infinity[1]
    if gold[0] == "text" or answer[0] == "text":
        return gold == answer
    wanted, gold_unit = _scaled(*_split(gold))
    given, unit = _scaled(*_split(answer))
    if answer[0] == "ratio":
        if len(answer[1]) != 2 or gold[0] == "qty":
            return False
        given = ("div", *answer[1])
    measure = units.parse_unit(unit) if unit else None
    if gold_unit is None or measure is None:
        target = units.parse_unit(gold_unit) if gold_unit else None
        return _bare(wanted, target, given, measure, work)
    target = units.parse_unit(gold_unit)
    if target[1] != measure[1]:
        return False
    factor = measure[0] / target[0]
    return equal(wanted, ("mul", ("num", factor), given), work)


def joined(node: Node) -> Node:
    """5 ft 6 in and 2 hours and 30 minutes as one quantity in their first unit."""
    parts: list[Node] = []
    rest = node  # read as ((5 ft) * 6) in
    if node[0] == "list" and set(node[2]) == {"and"}:
        parts = list(node[1])
    else:
        while rest[0] == "qty" and rest[1][0] == "mul" and rest[1][1][0] == "qty":
            parts.insert(0, ("qty", rest[1][2], rest[2]))
            rest = rest[1][1]
        parts.insert(0, rest)
    if len(parts) < 2 or any(p[0] != "qty" or p[1][0] != "num" for p in parts):
        return node
    try:
        measures = [units.parse_unit(p[2]) for p in parts]
    except NotUnderstood:
        return node
    first = measures[0]
    falling = all(b[0] < a[0] for a, b in itertools.pairwise(measures))
    if not falling or any(m[1] != first[1] for m in measures):
        return node
    terms = [
        ("mul", ("num", m[0] / first[0]), p[1])
        for p, m in zip(parts, measures, strict=True)
    ]
    return ("qty", ("add", *terms), parts[0][2])


def _bare(
    wanted: Node,
    target: units.Unit | None,
    given: Node,
    measure: units.Unit | None,
    work: Work,
) -> bool:
    """At most one side has a unit. Degrees convert to a multiple of pi."""
    if _is_angle(measure) and trees.contains(("add", wanted, given), "pi"):
        turned = ("mul", given, _HALF_TURN)  # pi/4 degrees are not pi/4
        return equal(wanted, turned, work) or (
            not trees.contains(given, "pi") and equal(wanted, given, work)
        )
    if _is_angle(target) and trees.contains(given, "pi"):
        if not trees.contains(wanted, "pi"):
            wanted = ("mul", wanted, _HALF_TURN)
    return _percent(wanted, given, work) or equal(wanted, given, work)


def _is_angle(unit: units.Unit | None) -> bool:
    return unit is not None and unit[1] == (("deg", 1),)


def _split(node: Node) -> tuple[Node, str | None]:
    """The number and the unit of -(5 metres), 5 metres or 5."""
    if node[0] == "qty":
        inner, unit = _split(node[1])
        return inner, f"{unit} {node[2]}" if unit else node[2]
    if node[0] == "mul" and len(node) == 3 and node[1] == ("num", -1):
        inner, unit = _split(node[2])
        return ("mul", node[1], inner), unit
    return node, None


def _scaled(node: Node, unit: str | None) -> tuple[Node, str | None]:
    """3 million, 28 percent, 28 per mille."""
    if not unit:
        return node, unit
    words = unit.lower().rstrip(".").split()
    joined = " ".join(words)
    if joined in _PERCENT:
        return ("pct", node), None
    if joined in _PER_MILLE:
        return ("div", node, ("num", 1000)), None
    if words and words[0] in units.SCALES:
        scaled = ("mul", node, ("num", units.SCALES[words[0]]))
        return scaled, " ".join(words[1:]) or None
    return node, unit


def _percent(wanted: Node, given: Node, work: Work) -> bool:
    """A bare number and the same number of percent agree where it is 1 or more."""
    shown, said = _of_percent(given), _of_percent(wanted)
    if shown is not None and said is None:
        value = rational(wanted, work, {})
        return value is not None and abs(value) >= 1 and equal(wanted, shown, work)
    if said is not None and shown is None:
        return equal(said, given, work)
    return False


def _of_percent(node: Node) -> Node | None:
    """The number of a value in percent, with its sign."""
    if node[0] == "mul" and len(node) == 3 and node[2][0] == "pct":
        return ("mul", node[1], node[2][1])
    return node[1] if node[0] == "pct" else None
