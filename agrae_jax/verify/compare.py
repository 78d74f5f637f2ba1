"""Compares two parsed answers; the gold's kind decides which rule applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agrae_jax.verify import (
    matrices,
    members,
    pieces,
    quantity,
    regions,
    relations,
    trees,
    vectors,
    words,
)
from agrae_jax.verify.exact import Work
from agrae_jax.verify.types import NotUnderstood, TooBig, Undefined

Node = tuple[Any, ...]
Result = tuple[bool, str]  # equal, the rule that decided
Same = Callable[[Node, Node], bool]
_MAX_ITEMS = 100


def compare(gold: Node, answer: Node, work: Work) -> Result:
    """Whether an answer means the gold, and by which rule."""
    gold, answer = members.grouped(gold), members.grouped(answer)
    gold, answer = members.permuted(gold, answer)
    gold, answer = (quantity.joined(members.unnamed(n)) for n in (gold, answer))
    gold, answer = vectors.aligned(gold, answer, work)
    tag = gold[0]
    if gold[0] == "cong":
        return relations.congruence(gold, answer, work), "congruence"
    if regions.is_inequality(gold):
        return _inequality(gold, answer, work)
    if regions.is_region(gold):
        return _region(gold, answer, work)
    if tag == "bracket":
        return _tuple(gold, answer, work), "tuple"
    if tag in ("set", "list") or members.both_signs(gold) is not None:
        return _collection(gold, answer, work)
    if tag == "rel":
        wanted = members.named_matrix(gold)
        if wanted is not None:
            return _named_matrix(gold[2][0], wanted, answer, work), "matrix"
        return relations.equation(gold, answer, work)
    if tag == "ratio":
        return relations.ratio(gold, answer, work), "ratio"
    wanted = matrices.rows_of(gold)
    if wanted is not None:
        return _matrix(wanted, answer, work), "matrix"
    return relations.value(gold, answer, work), "value"


# -- sets of numbers ---------------------------------------------------------------
def _region(gold: Node, answer: Node, work: Work) -> Result:
    if gold[0] == "const" or answer == gold:
        return answer == gold or pieces.same(
            regions.region(gold, work), regions.region(answer, work), work
        ), "region"
    if answer[0] == "list" and not regions.is_inequality(answer):
        if any(item[0] != "bracket" for item in answer[1]):
            return False, "region"
    wanted = pieces.tidy(regions.region(gold, work), work)
    given = pieces.tidy(regions.region(answer, work), work)
    return bool(wanted) and pieces.same(wanted, given, work), "region"


def _inequality(gold: Node, answer: Node, work: Work) -> Result:
    rule = "inequality"
    if gold[0] == answer[0] == "rel":
        if relations.same_chain(gold, answer, work):
            return True, rule
        subjects = [_subjects(n) for n in (gold, answer)]
        if subjects[0] != subjects[1]:
            return False, rule
    if gold[0] == answer[0] == "list" and len(gold[1]) == len(answer[1]):
        if members.match(gold[1], answer[1], _safely(work)):
            return True, rule
    try:
        wanted = pieces.tidy(regions.region(gold, work), work)
    except NotUnderstood:
        return False, rule
    given = pieces.tidy(regions.region(answer, work), work)
    return bool(wanted) and pieces.same(wanted, given, work), rule


def _subjects(relation: Node) -> set[str]:
    """The letters and the values of functions that a relation is about."""
    found = trees.variables(("add", *relation[2]))
    return found.union(*map(_applied, relation[2]))


def _applied(node: Node) -> set[str]:
    own = {repr(trees.canonical(node))} if node[0] == "app" else set()
    return own.union(*map(_applied, trees.children(node)))


# -- tuples, lists, sets ------------------------------------------------------------
def _safely(work: Work) -> Same:
    """Comparison of items: one without a value is only unequal."""

    def same(gold: Node, answer: Node) -> bool:
        try:
            return compare(gold, answer, work)[0]
        except (NotUnderstood, Undefined, TooBig):
            return False

    return same


def _tuple(gold: Node, answer: Node, work: Work) -> bool:
    """Ordered. Also bare values in order, a row or column, an open interval."""
    items = gold[3]
    answer = members.point(answer)
    if answer[0] == "bracket":
        if answer[1:3] != gold[1:3]:
            return False
        given: Sequence[Node] = answer[3]
    elif answer[0] == "list" and not regions.is_inequality(answer):
        given = answer[1]
        if "or" in answer[2] or any(i[0] == "bracket" for i in given):
            return False
    elif len(items) == 2 and (regions.is_inequality(answer) or answer[0] == "such"):
        return _region(gold, answer, work)[0]
    else:
        rows = matrices.rows_of(answer)
        if rows is None or 1 not in (len(rows), len(rows[0])):
            return False
        given = [entry for row in rows for entry in row]
    return len(given) == len(items) and all(map(_safely(work), items, given))


def _collection(gold: Node, answer: Node, work: Work) -> Result:
    if answer[0] == "such" and gold[0] == "set" and gold[1]:
        return _region(gold, answer, work)
    wanted, given = members.members_of(gold), members.members_of(answer)
    if wanted is None:
        raise NotUnderstood("no collection")
    names = [members.label(w) for w in wanted]
    named = len(set(names)) == len(names) > 1 and None not in names
    if named and answer[0] == "rel" and answer[2][0][0] == "bracket":
        given = members.by_name(names, answer)
    elif named and answer[0] == "bracket" and answer[1:3] == ("(", ")"):
        given = list(answer[3])
    if given is None:
        if not wanted:
            return answer[0] == "text" and words.nothing(answer[1]) is not None, "set"
        if len(wanted) > 1:
            return False, "list"
        given = [answer]
    if not wanted or not given or max(len(wanted), len(given)) > _MAX_ITEMS:
        return not wanted and not given, "list"
    same = _safely(work)
    if gold[0] == "set" or answer[0] == "set":
        return all(any(same(w, g) for g in given) for w in wanted) and all(
            any(same(w, g) for w in wanted) for g in given
        ), "set"
    given = members.without_repeats(wanted, given)
    if len(wanted) != len(given):
        return False, "list"
    if named and all(members.label(g) is None for g in given):  # bare values: in order
        return all(map(same, wanted, given)), "named list"
    return members.match(wanted, given, same), "list"


def _named_matrix(name: Node, wanted: matrices.Rows, answer: Node, work: Work) -> bool:
    """A = (..) takes the bare matrix, or one of the same name."""
    if members.named_matrix(answer) is not None:
        if members.plain(answer[2][0]) != members.plain(name):
            return False
        answer = answer[2][1]
    return _matrix(wanted, answer, work)


def _matrix(wanted: matrices.Rows, answer: Node, work: Work) -> bool:
    """Entry by entry; a vector also as a tuple."""
    for claim in relations.claimed(answer):
        given = matrices.rows_of(claim)
        if given is None and claim[0] == "bracket":
            given = _rows(claim, column=len(wanted[0]) == 1)
        if (
            given is None
            or len(given) != len(wanted)
            or len(given[0]) != len(wanted[0])
        ):
            return False
        for row, other in zip(wanted, given, strict=True):
            if not all(map(_safely(work), row, other)):
                return False
    return True


def _rows(node: Node, *, column: bool) -> matrices.Rows:
    """A tuple as a row or column; [[1, 2], [3, 4]] as its rows."""
    if all(item[0] == "bracket" and item[1] == "[" for item in node[3]):
        return tuple(item[3] for item in node[3])
    return tuple((e,) for e in node[3]) if column else (node[3],)
