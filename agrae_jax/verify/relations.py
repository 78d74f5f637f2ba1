"""Equations, chains of equations, inequalities of several letters, ratios."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from agrae_jax.verify import equality, trees
from agrae_jax.verify.exact import Work, rational
from agrae_jax.verify.quantity import same_value
from agrae_jax.verify.regions import FLIPPED
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
_EQUALS = frozenset(("=", "~", "=="))
NO_NAME = ("text", "")  # the left side of a bare "3 (mod 7)"


def is_name(node: Node) -> bool:
    """Whether a left side only names a value: x, S_n, f(x), AB, |AB|, Area."""
    if node[0] in ("sym", "app", "text"):
        return True
    if node[0] == "mul":
        return all(is_name(c) for c in node[1:])
    if node[0] == "div":  # of lengths and areas: AB/CD
        return all(is_name(c) and _capital(c) for c in node[1:])
    if node[0] == "bracket":
        return all(is_name(c) for c in node[3])
    return node[0] == "fn" and node[1] == "abs" and is_name(node[2])


def _capital(node: Node) -> bool:
    return all(name[0].isupper() for name in trees.variables(node))


def claimed(answer: Node) -> list[Node]:
    """What "x = a = b" claims to be the value: a and b, which must then agree."""
    if answer[0] == "list":  # one value in two forms: 1/2 or 0.5
        return [value for item in answer[1] for value in claimed(item)]
    if answer[0] == "set" and len(answer[1]) == 1:
        return claimed(answer[1][0])
    if answer[0] != "rel":
        return [answer]
    operators, members = answer[1], answer[2]
    if any(o not in _EQUALS for o in operators):
        raise NotUnderstood("an inequality is no value")
    if is_name(members[0]) or not _has_number(members[0]):
        operators, members = operators[1:], members[1:]
    elif len(members) > 1 and is_name(members[-1]):  # 42 = x
        operators, members = operators[:-1], members[:-1]
    if "~" in operators:  # "a ~ b": the value is a, b only shows its size
        members = members[: operators.index("~") + 1]
    return list(members)


def _has_number(node: Node) -> bool:
    if node[0] in ("num", "const", "list", "bracket", "set", "such", "matrix"):
        return True
    return any(_has_number(child) for child in trees.children(node))


def value(gold: Node, answer: Node, work: Work) -> bool:
    """Whether all that an answer claims is the value of the gold."""
    claims = claimed(answer)
    if bool(claims) and all(same_value(gold, claim, work) for claim in claims):
        return True
    return answer[0] == "rel" and "~" in answer[1] and _rounded(gold, answer, work)


def _rounded(gold: Node, answer: Node, work: Work) -> bool:
    """sqrt(2) ~ 1.41 for a gold 1.41: the decimal, if it is the rounding it claims."""
    exact, shown = claimed(answer), answer[2][-1]
    if gold[0] != "num" or shown[0] != "num" or shown[1] != gold[1] or len(exact) != 1:
        return False
    places = next((k for k in range(20) if 10**k % gold[1].denominator == 0), None)
    if not places or trees.variables(exact[0]):
        return False
    half = ("num", Fraction(1, 2 * 10**places))
    distance = ("fn", "abs", trees.difference(exact[0], gold))
    return equality.order(distance, half, work) <= 0


def equation(gold: Node, answer: Node, work: Work) -> tuple[bool, str]:
    """A gold equation: by its value where its left side is a name, else as a whole."""
    _, operators, members = gold
    if any(o not in _EQUALS for o in operators):
        raise NotUnderstood("an unknown relation")
    if not is_name(members[0]):
        if not trees.variables(("add", *members)):  # 0.56 = 56%
            return _any_value(members, operators, answer, work), "chain"
        return _same(gold, answer, work), "equation"
    if len(members) > 2 and all(map(is_name, members)):  # a = b = c
        if answer[0] != "rel" or any(o not in _EQUALS for o in answer[1]):
            return False, "chain"
        keys = [{trees.canonical(m) for m in n[2]} for n in (gold, answer)]
        return keys[0] == keys[1], "chain"
    if answer[0] != "rel":
        return _any_value(members[1:], operators[1:], answer, work), "right side"
    gold, answer = _renamed(gold, answer)
    names = [trees.canonical(n[2][0]) for n in (gold, answer)]
    if is_name(answer[2][0]) and (names[0] == names[1] or _is_function(*names)):
        return _any_value(gold[2][1:], operators[1:], answer, work), "right side"
    return _same(gold, answer, work), "equation"


def _is_function(gold: Node, answer: Node) -> bool:
    """y = x^2 and f(x) = x^2 are one function."""
    kinds = {gold[0], answer[0]}
    return kinds == {"app", "sym"} and ("sym", "y") in (gold, answer)


def _renamed(gold: Node, answer: Node) -> tuple[Node, Node]:
    """f(t) = t^2 is f(x) = x^2: an argument is a bound name."""
    left, right = gold[2][0], answer[2][0]
    if left[0] != "app" or right[:2] != left[:2] or len(left) != len(right):
        return gold, answer
    for old, new in zip(right[2:], left[2:], strict=True):
        if old[0] != "sym" or new[0] != "sym" or old == new:
            return gold, answer
        if new[1] in trees.variables(("add", *answer[2])):
            return gold, answer
        members = tuple(trees.substitute(m, old[1], new) for m in answer[2])
        answer = ("rel", answer[1], members)
    return gold, answer


def _any_value(
    values: tuple[Node, ...], operators: tuple[str, ...], answer: Node, work: Work
) -> bool:
    """The gold's value; after an approximation sign its rounding will do too."""
    accepted = values if "~" in operators else values[:1]
    return any(value(v, answer, work) for v in accepted)


def _same(gold: Node, answer: Node, work: Work) -> bool:
    if answer[0] != "rel":
        return False
    if trees.canonical(gold) == trees.canonical(answer):
        return True
    if len(gold[2]) != 2 or len(answer[2]) != 2 or answer[1][0] not in ("=", "=="):
        return False
    left, right = (trees.difference(*n[2]) for n in (gold, answer))
    if not trees.variables(left) or not trees.variables(right):
        return False
    return equality.ratio(left, right, work) != 0


def same_chain(gold: Node, answer: Node, work: Work) -> bool:
    """Equality of chains of relations, read forwards or backwards, up to scale."""
    if len(gold[1]) != len(answer[1]):
        return False
    backwards = tuple(FLIPPED.get(o, o) for o in answer[1][::-1])
    for operators, members in (
        (answer[1], answer[2]),
        (backwards, answer[2][::-1]),
    ):
        if operators == gold[1] and all(
            same_value(g, a, work) for g, a in zip(gold[2], members, strict=True)
        ):
            return True
    if len(gold[2]) != 2:
        return False
    left, right = (trees.difference(*n[2]) for n in (gold, answer))
    if not trees.variables(left) or not trees.variables(right):
        return False  # all constants are proportional
    sign = equality.ratio(left, right, work)
    if sign == 0:
        return False
    wanted = answer[1][0] if sign > 0 else FLIPPED.get(answer[1][0])
    return gold[1][0] == wanted


def congruence(gold: Node, answer: Node, work: Work) -> bool:
    """The same left side and modulus, and right sides that differ by a multiple.

    Also the bare residue, as the gold gives it.
    """
    _, left, right, modulus = gold
    if answer[0] != "cong":
        if answer[0] == "rel" and answer[2][0] != left:
            return False
        return value(right, answer, work)
    same = NO_NAME in (left, answer[1]) or equality.equal(left, answer[1], work)
    if not same or not equality.equal(modulus, answer[3], work):
        return False
    turns = rational(("div", trees.difference(right, answer[2]), modulus), work, {})
    if turns is None:
        return equality.equal(right, answer[2], work)
    return turns.denominator == 1


def ratio(gold: Node, answer: Node, work: Work) -> bool:
    """a : b : c up to a common factor; a : b also as the fraction a / b."""
    wanted = gold[1]
    if answer[0] == "rel" and answer[1] == ("=",):
        answer = answer[2][1]
    if trees.canonical(gold) == trees.canonical(answer):
        return True
    if answer[0] != "ratio":
        return len(wanted) == 2 and value(("div", *wanted), answer, work)
    given = answer[1]
    if len(given) != len(wanted) or any(n[0] == "dots" for n in (*wanted, *given)):
        return False
    return all(
        equality.equal(("mul", wanted[0], g), ("mul", given[0], w), work)
        for w, g in zip(wanted[1:], given[1:], strict=True)
    )
