"""Compares two parsed answers; the gold's kind decides which rule applies."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from agrae_jax.verify import matrices, realset, symbolic, units
from agrae_jax.verify.exact import Work, rational
from agrae_jax.verify.types import NotUnderstood, TooBig, Undefined

Node = tuple[Any, ...]
Result = tuple[bool, str]  # equal, the rule that decided
_MAX_ITEMS = 200
_ORDERS = frozenset(["<", ">", "<=", ">="])


def compare(gold: Node, answer: Node, work: Work) -> Result:
    """Whether an answer means the gold, and by which rule."""
    gold, answer = _unwrap(gold), _unwrap(answer)
    tag = gold[0]
    if _is_inequality(gold):
        return _inequality(gold, answer, work)
    if realset.is_region(gold):
        return _region(gold, answer, work)
    if tag == "bracket":
        return _tuple(gold, answer, work)
    if tag == "set" or tag == "list" or _spread_values(gold) is not None:
        return _collection(gold, answer, work)
    if tag == "rel":
        return _equation(gold, answer, work)
    if tag == "ratio":
        return _ratio(gold, answer, work)
    if matrices.rows_of(gold) is not None:
        return _matrix(gold, answer, work)
    return _scalar(gold, answer, work)


def _unwrap(node: Node) -> Node:
    """(r, t) = (1, 2) and x in [0, 1) stand for their right side."""
    if node[0] == "rel" and len(node[2]) == 2:
        left, right = node[2]
        if node[1] == ("=",) and left[0] == "bracket" and right[0] == "bracket":
            if all(is_name(item) for item in left[3]):
                return right
        if (
            node[1] == ("=",)
            and is_name(left)
            and (realset.is_region(right) or right[0] in ("bracket", "set", "ratio"))
        ):
            return right
        if node[1] == ("=",) and left[0] == "ratio" and right[0] == "ratio":
            return right
        if node[1] == ("in",) and is_name(left):
            return right
    return node


def is_name(node: Node) -> bool:
    """Whether a left side only names a value: x, S_n, f(x), AB, Area."""
    if node[0] in ("sym", "app", "text"):
        return True
    if node[0] == "mul":
        return all(is_name(c) for c in node[1:])
    if node[0] == "bracket":
        return all(is_name(c) for c in node[3])
    if node[0] == "fn" and node[1] == "abs":
        return is_name(node[2])
    return False


def _is_inequality(node: Node) -> bool:
    if node[0] == "rel":
        return any(o in _ORDERS or o == "!=" for o in node[1])
    return node[0] == "list" and any(_is_inequality(i) for i in node[1])


# -- sets of numbers --------------------------------------------------------------------
def _region(gold: Node, answer: Node, work: Work) -> Result:
    if answer[0] == "list" and not _is_inequality(answer):
        return False, "region"
    wanted = realset.region(gold, work)
    return realset.same(wanted, realset.region(answer, work), work), "region"


def _inequality(gold: Node, answer: Node, work: Work) -> Result:
    if gold[0] == "rel" and answer[0] == "rel" and _same_chain(gold, answer, work):
        return True, "inequality"
    if gold[0] == answer[0] == "list" and len(gold[1]) == len(answer[1]):
        matched = _match(
            list(gold[1]), list(answer[1]), lambda g, a: compare(g, a, work)[0]
        )
        if matched:
            return True, "inequality"
    try:
        wanted = realset.region(gold, work)
    except NotUnderstood:
        return False, "inequality"
    return realset.same(wanted, realset.region(answer, work), work), "inequality"


def _same_chain(gold: Node, answer: Node, work: Work) -> bool:
    flip = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
    if len(gold[1]) != len(answer[1]):
        return False
    for operators, members in (
        (answer[1], answer[2]),
        (tuple(flip.get(o, o) for o in answer[1][::-1]), answer[2][::-1]),
    ):
        if operators == gold[1] and all(
            _equal(g, a, work) for g, a in zip(gold[2], members, strict=True)
        ):
            return True
    if len(gold[2]) != 2:
        return False
    left, right = (
        ("add", n[2][0], ("mul", ("num", -1), n[2][1])) for n in (gold, answer)
    )
    sign = symbolic.ratio(left, right, work)
    if gold[1][0] in ("=", "!="):
        return sign != 0 and gold[1] == answer[1]
    return sign != 0 and gold[1][0] == (
        answer[1][0] if sign > 0 else flip.get(answer[1][0])
    )


# -- tuples, lists, sets ------------------------------------------------------------------
def _tuple(gold: Node, answer: Node, work: Work) -> Result:
    items = gold[3]
    if answer[0] == "bracket":
        same = answer[1:3] == gold[1:3] and len(answer[3]) == len(items)
        return same and all(map(_item(work), items, answer[3])), "tuple"
    if answer[0] == "list":
        given = answer[1]
        if "or" in answer[2]:
            return False, "tuple"
        if len(given) != len(items) or any(i[0] == "bracket" for i in given):
            return False, "tuple"
        return all(map(_item(work), items, given)), "tuple"
    rows = matrices.rows_of(answer)
    if rows is not None:
        flat = [e for row in rows for e in row]
        if 1 not in (len(rows), len(rows[0])) or len(flat) != len(items):
            return False, "tuple"
        return all(map(_item(work), items, flat)), "tuple"
    if len(items) == 2 and _is_inequality(answer):
        return _region(gold, answer, work)
    return False, "tuple"


def _item(work: Work) -> Callable[[Node, Node], bool]:
    def same(gold: Node, answer: Node) -> bool:
        try:
            return compare(gold, answer, work)[0]
        except (NotUnderstood, Undefined, TooBig):
            return False

    return same


def _spread_values(node: Node) -> list[Node] | None:
    """The two values of an expression or equation with plus-minus."""
    if node[0] in ("list", "bracket", "set", "text") or not symbolic.contains(
        node if node[0] != "rel" else ("add", *node[2]), "pm", "mp"
    ):
        return None
    if node[0] == "rel":
        if node[1] != ("=",) or not is_name(node[2][0]):
            return None
        node = node[2][1]
    return realset.spread(node)


def _members(node: Node) -> list[Node] | None:
    """The items of a collection; the name of the first one covers bare ones."""
    node = _unwrap(node)
    if node[0] in ("list", "set"):
        items: list[Node] = []
        for item in node[1]:
            item = _unwrap(item)
            if node[0] == "list" and item[0] == "set":
                items += _members(item) or []
            else:
                items += _spread_values(item) or [item]
        return items
    if node[0] == "union":
        left, right = _members(node[1]), _members(node[2])
        return None if left is None or right is None else left + right
    return _spread_values(node)


def _collection(gold: Node, answer: Node, work: Work) -> Result:
    wanted = _members(gold)
    given = _members(answer)
    if wanted is None:
        raise NotUnderstood("no collection")
    if given is None:
        if len(wanted) == 1 or gold[0] == "set" and not wanted:
            given = [answer]
        else:
            return False, "collection"
    if len(wanted) > _MAX_ITEMS or len(given) > _MAX_ITEMS:
        return False, "collection"
    if not wanted or not given:
        return not wanted and not given, "collection"
    same = _item(work)
    if gold[0] == "set" or answer[0] == "set":
        ok = all(any(same(w, g) for g in given) for w in wanted) and all(
            any(same(w, g) for w in wanted) for g in given
        )
        return ok, "set"
    if len(wanted) != len(given):
        return False, "list"
    names = {_label(w) for w in wanted}
    if len(names) == len(wanted) > 1 and None not in names:
        if all(_label(g) is None for g in given):  # bare values of named ones: in order
            return all(map(same, wanted, given)), "named list"
    return _match(wanted, given, same), "list"


def _label(node: Node) -> Node | None:
    if node[0] == "rel" and node[1] == ("=",) and is_name(node[2][0]):
        return node[2][0]
    return None


def _match(
    wanted: list[Node], given: list[Node], same: Callable[[Node, Node], bool]
) -> bool:
    rest = list(given)
    for item in wanted:
        found = next((i for i, g in enumerate(rest) if same(item, g)), None)
        if found is None:
            return False
        del rest[found]
    return not rest


# -- equations ------------------------------------------------------------------------------
def _equation(gold: Node, answer: Node, work: Work) -> Result:
    _, operators, members = gold
    if any(o not in ("=", "~", "==") for o in operators):
        raise NotUnderstood("an unknown relation")
    if is_name(members[0]) and members[0][0] != "bracket":
        if answer[0] != "rel":
            return _scalar_chain(members[1:], answer, work), "value of the equation"
        if not is_name(answer[2][0]):
            return _same_equation(gold, answer, work), "equation"
        gold, answer = _rename(gold, answer)
        same_name = symbolic.canonical(gold[2][0]) == symbolic.canonical(answer[2][0])
        if same_name:
            return _scalar_chain(gold[2][1:], answer, work), "value of the equation"
        return _same_equation(gold, answer, work), "equation"
    if len(members) > 2 or not symbolic.variables(("add", *members)):
        if answer[0] != "rel" or not symbolic.variables(("add", *members)):
            return _scalar_chain(members, answer, work), "chain"
    if answer[0] != "rel":
        return False, "equation"
    return _same_equation(gold, answer, work), "equation"


def _rename(gold: Node, answer: Node) -> tuple[Node, Node]:
    """f(t) = t^2 is f(x) = x^2: an argument is a bound name."""
    left, right = gold[2][0], answer[2][0]
    if left[0] == right[0] == "app" and left[1] == right[1] and len(left) == len(right):
        for old, new in zip(right[2:], left[2:], strict=True):
            if old[0] != "sym" or new[0] != "sym":
                return gold, answer
            if new[1] in symbolic.variables(("add", *answer[2])) and old != new:
                return gold, answer
            members = tuple(symbolic.substitute(m, old[1], new) for m in answer[2])
            answer = ("rel", answer[1], members)
    return gold, answer


def _scalar_chain(values: tuple[Node, ...], answer: Node, work: Work) -> bool:
    return all(_scalar(value, answer, work)[0] for value in values[:1]) and all(
        _equal(values[0], v, work) or gold_rounds
        for v in values[1:]
        for gold_rounds in (True,)
    )


def _same_equation(gold: Node, answer: Node, work: Work) -> bool:
    if len(gold[2]) != 2 or len(answer[2]) != 2 or answer[1] not in (("=",), ("==",)):
        return len(gold[2]) == len(answer[2]) and _same_chain(gold, answer, work)
    left, right = (
        ("add", n[2][0], ("mul", ("num", -1), n[2][1])) for n in (gold, answer)
    )
    if symbolic.canonical(gold) == symbolic.canonical(answer):
        return True
    if not symbolic.variables(left) or not symbolic.variables(right):
        return False
    return symbolic.ratio(left, right, work) != 0


# -- single values ---------------------------------------------------------------------------
def _values(answer: Node) -> list[Node]:
    """What "x = a = b" claims to be the value: a and b, which must then agree."""
    if answer[0] != "rel":
        return [answer]
    operators, members = answer[1], answer[2]
    if any(o not in ("=", "~") for o in operators):
        raise NotUnderstood("an inequality is no value")
    named = is_name(members[0]) or not _has_number(members[0])
    if named:
        operators, members = operators[1:], members[1:]
    if "~" in operators:  # "a ~ b": the value is a, b only shows its size
        members = members[: operators.index("~") + 1]
    return list(members)


def _has_number(node: Node) -> bool:
    if node[0] in ("num", "const"):
        return True
    if node[0] in ("list", "bracket", "set", "such", "matrix"):
        return True
    return any(
        _has_number(c) for c in node[1:] if isinstance(c, tuple) and c
        and isinstance(c[0], str)
    )  # fmt: skip


def _scalar(gold: Node, answer: Node, work: Work) -> Result:
    if gold[0] == "rel":
        return compare(gold, answer, work)
    values = _values(answer)
    if not values:
        return False, "value"
    return all(quantity(gold, value, work) for value in values), "value"


def quantity(gold: Node, answer: Node, work: Work) -> bool:
    """Equality of two values, either of which may carry a unit or a percent sign."""
    if answer[0] in ("list", "bracket", "set", "such", "rel", "union", "matrix"):
        return False
    infinity = realset.infinite(gold), realset.infinite(answer)
    if any(infinity):
        return infinity[0] == infinity[1]
    if gold[0] == "text" or answer[0] == "text":
        return gold == answer
    wanted, gold_unit = _split(gold)
    given, unit = _split(answer)
    if answer[0] == "ratio":
        if len(answer[1]) != 2 or gold[0] == "qty":
            return False
        given = ("div", *answer[1])
    return _measured(wanted, gold_unit, given, unit, work)


def _measured(
    wanted: Node, gold_unit: str | None, given: Node, unit: str | None, work: Work
) -> bool:
    given, unit, scaled = _scale(given, unit)
    wanted, gold_unit, _ = _scale(wanted, gold_unit)
    measure = units.parse_unit(unit) if unit else None
    if gold_unit is None or measure is None:
        if unit and gold_unit is None and _is_angle(measure):
            half_turn = ("div", ("mul", given, ("const", "pi")), ("num", 180))
            if symbolic.contains(wanted, "pi") and symbolic.equal(
                wanted, half_turn, work
            ):
                return True
        if _percent(wanted, given, work):
            return True
        if gold_unit and _is_angle(units.parse_unit(gold_unit)):
            if symbolic.contains(given, "pi") and not symbolic.contains(wanted, "pi"):
                wanted = ("div", ("mul", wanted, ("const", "pi")), ("num", 180))
        return symbolic.equal(wanted, given, work)
    target = units.parse_unit(gold_unit)
    if target[1] != measure[1]:
        return False
    factor = measure[0] / target[0]
    return symbolic.equal(wanted, ("mul", ("num", factor), given), work)


def _is_angle(unit: Any) -> bool:
    return unit is not None and unit[1] == (("deg", 1),)


def _split(node: Node) -> tuple[Node, str | None]:
    if node[0] == "qty":
        inner, unit = _split(node[1])
        return inner, f"{unit} {node[2]}" if unit else node[2]
    if node[0] == "mul" and len(node) == 3 and node[1] == ("num", -1):
        inner, unit = _split(node[2])
        return ("mul", node[1], inner), unit
    return node, None


def _scale(node: Node, unit: str | None) -> tuple[Node, str | None, bool]:
    """3 million, 28 percent, 28 per mille."""
    if not unit:
        return node, unit, False
    words = unit.split()
    joined = " ".join(words).lower().rstrip(".")
    if joined in ("percent", "pct", "per cent", "percentage"):
        return ("pct", node), None, True
    if joined in ("per mille", "per mil", "permille"):
        return ("div", node, ("num", 1000)), None, True
    if words[0].lower() in units.SCALES:
        scaled = ("mul", node, ("num", units.SCALES[words[0].lower()]))
        return scaled, " ".join(words[1:]) or None, True
    return node, unit, False


def _percent(wanted: Node, given: Node, work: Work) -> bool:
    """A bare number and the same number of percent agree where it is 1 or more."""
    if given[0] == "pct" and wanted[0] != "pct":
        value = rational(wanted, work, {})
        if value is not None and abs(value) >= 1:
            return symbolic.equal(wanted, given[1], work)
    if wanted[0] == "pct" and given[0] != "pct":
        return symbolic.equal(wanted[1], given, work)
    return False


def _equal(left: Node, right: Node, work: Work) -> bool:
    return quantity(left, right, work)


def _ratio(gold: Node, answer: Node, work: Work) -> Result:
    wanted = gold[1]
    if symbolic.canonical(gold) == symbolic.canonical(answer):
        return True, "ratio"
    if answer[0] != "ratio":
        if len(wanted) != 2 or answer[0] in ("list", "bracket", "set"):
            return False, "ratio"
        return _scalar(("div", *wanted), answer, work)[0], "ratio"
    given = answer[1]
    if len(given) != len(wanted) or any(n[0] == "dots" for n in (*wanted, *given)):
        return False, "ratio"
    pairs = zip(wanted[1:], given[1:], strict=True)
    return all(
        symbolic.equal(("mul", wanted[0], g), ("mul", given[0], w), work)
        for w, g in pairs
    ), "ratio"


def _matrix(gold: Node, answer: Node, work: Work) -> Result:
    wanted = matrices.rows_of(gold)
    for value in _values(answer):
        given = matrices.rows_of(value)
        if given is None and value[0] == "bracket" and wanted is not None:
            column = len(wanted[0]) == 1
            given = tuple((e,) for e in value[3]) if column else (value[3],)
        if given is None or wanted is None or len(given) != len(wanted):
            return False, "matrix"
        if len(given[0]) != len(wanted[0]):
            return False, "matrix"
        for row, other in zip(wanted, given, strict=True):
            if not all(map(_item(work), row, other)):
                return False, "matrix"
    return True, "matrix"


ZERO = Fraction(0)
