"""The items of lists, sets and tuples, and the names that they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agrae_jax.verify import matrices, regions, relations, trees

Node = tuple[Any, ...]
Same = Callable[[Node, Node], bool]


def permuted(gold: Node, answer: Node) -> tuple[Node, Node]:
    """(q, p) = (2, 3) and q = 2, p = 3 in the order of a gold (p, q) = (3, 2)."""
    if gold[0] != "rel" or gold[1] != ("=",) or gold[2][0][0] != "bracket":
        return gold, answer
    names = list(gold[2][0][3])
    if answer[0] == "rel" and answer[2][0][0] == "bracket" == answer[2][1][0]:
        pairs = list(zip(answer[2][0][3], answer[2][1][3], strict=False))
    elif answer[0] == "list":
        pairs = [i[2][:2] if i[0] == "rel" else (i, i) for i in answer[1]]
    else:
        return gold, answer
    given = [p[0] for p in pairs]
    if len(given) != len(names) or any(given.count(n) != 1 for n in names):
        return gold, answer
    ordered = tuple(pairs[given.index(n)][1] for n in names)
    return gold, ("bracket", "(", ")", ordered)


def unnamed(node: Node) -> Node:
    """(r, t) = (1, 2), D = (0, 1), x in [0, 1) stand for their right side."""
    if node[0] != "rel" or len(node[2]) != 2:
        return node
    left, right = node[2]
    if node[1] == ("in",):
        return right if relations.is_name(left) else node
    if node[1] != ("=",):
        return node
    structure = regions.is_region(right) or right[0] in ("bracket", "set", "ratio")
    if relations.is_name(left) and structure:
        return right
    return right if left[0] == right[0] == "ratio" else node


def named_matrix(node: Node) -> matrices.Rows | None:
    """The rows of A in "name = A"; a name may be A^{-1} or A^2 here."""
    if node[0] != "rel" or node[1] != ("=",):
        return None
    name, right = node[2]
    while name[0] == "pow":
        name = name[1]
    return matrices.rows_of(right) if relations.is_name(name) else None


def plain(name: Node) -> Node:
    r"""A name without its arrow: \vec v and \mathbf v are one."""
    if name[0] == "sym":
        accent, _, letter = name[1].partition(":")
        return ("sym", letter) if accent in ("vec", "overrightarrow") else name
    return trees.canonical(trees.rebuild(name, plain))


def grouped(node: Node) -> Node:
    """p = 5, q = 2; p = 7, q = 2 as a list of the tuples (5, 2) and (7, 2)."""
    if node[0] != "list" or not {";", ","} <= set(node[2]):
        return node
    groups: list[list[Node]] = [[node[1][0]]]
    for separator, item in zip(node[2], node[1][1:], strict=True):
        if separator == ";":
            groups.append([])
        groups[-1].append(item)
    named = all(len(g) > 1 and all(map(label, g)) for g in groups)
    names = {tuple(label(item) for item in g) for g in groups}
    if not named or len(names) != 1:
        return node
    points = tuple(
        ("bracket", "(", ")", tuple(item[2][1] for item in g)) for g in groups
    )
    return ("list", points, (",",) * (len(points) - 1))


def without_repeats(wanted: Sequence[Node], given: Sequence[Node]) -> Sequence[Node]:
    """What is given, each once, unless the gold itself repeats an item."""
    keys = [repr(trees.canonical(w)) for w in wanted]
    if len(set(keys)) < len(keys) or len(given) <= len(wanted):
        return given
    return list({repr(trees.canonical(g)): g for g in given}.values())


def both_signs(node: Node) -> list[Node] | None:
    """The two values of an expression or named value with plus-minus."""
    if node[0] == "rel":
        if node[1] != ("=",) or not relations.is_name(node[2][0]):
            return None
        node = node[2][1]
    if node[0] in ("list", "bracket", "set", "text", "rel", "ratio", "such"):
        return None
    return trees.spread(node) if trees.contains(node, "pm", "mp") else None


def members_of(node: Node) -> list[Node] | None:
    """The items of a list, set or union of sets; both values of a plus-minus."""
    node = unnamed(node)
    if node[0] == "union":
        left, right = members_of(node[1]), members_of(node[2])
        return None if left is None or right is None else left + right
    if node[0] not in ("list", "set"):
        return both_signs(node)
    items: list[Node] = []
    for item in node[1]:
        item = unnamed(item)
        if node[0] == "list" and item[0] == "set":
            items += members_of(item) or []
        else:
            items += both_signs(item) or [item]
    return items


def label(node: Node) -> Node | None:
    """The name in front of a value: x of x = 5."""
    if node[0] == "rel" and node[1] == ("=",) and relations.is_name(node[2][0]):
        return node[2][0]
    return None


def by_name(names: Sequence[Node | None], answer: Node) -> list[Node] | None:
    """(y, x) = (3, 2) in the order x, y."""
    left, right = answer[2][0], answer[2][-1]
    if right[0] != "bracket" or sorted(map(repr, left[3])) != sorted(map(repr, names)):
        return None
    if len(right[3]) != len(names):
        return None
    return [right[3][left[3].index(name)] for name in names]


def match(wanted: Sequence[Node], given: Sequence[Node], same: Same) -> bool:
    """Whether each wanted item has its own given one, in any order."""
    rest = list(given)
    keys = [repr(trees.canonical(g)) for g in rest]
    hard = []
    for item in wanted:  # the same spelling first: cheap, and usual
        key = repr(trees.canonical(item))
        if key in keys:
            at = keys.index(key)
            del keys[at], rest[at]
        else:
            hard.append(item)
    for item in hard:
        found = next((i for i, g in enumerate(rest) if same(item, g)), None)
        if found is None:
            return False
        del rest[found]
    return not rest


def point(node: Node) -> Node:
    """P(2, 3) names the point (2, 3)."""
    if node[0] == "app" and len(node) > 3 and node[1].isupper():
        return ("bracket", "(", ")", node[2:])
    return node
