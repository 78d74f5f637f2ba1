r"""Vectors written with unit vectors: 2\hat{i} - \hat{j}, \mathbf{i} + 3\mathbf{k}."""

from __future__ import annotations

import re
from typing import Any

from agrae_jax.verify import equality, trees
from agrae_jax.verify.exact import Work

Node = tuple[Any, ...]
_AXES = ("hat:i", "hat:j", "hat:k")
_HAT = re.compile(
    r"\\(?:wide)?hat\s*(?:\{\s*)?(?:\\(?:mathbf|boldsymbol|mathrm|bm)\s*(?:\{\s*)?)?"
    r"(?:\\([ij])math(?![a-zA-Z])|([ijk])(?![a-zA-Z]))\s*\}{0,2}"
)
_BOLD = re.compile(r"\\(?:mathbf|boldsymbol|bm|vec)\s*\{\s*\\?([ijk])(?:math)?\s*\}")


def with_hats(text: str) -> str:
    r"""The text with unit vectors as \hat{i}; a lone bold i stays what it was."""
    if "hat" in text:
        text = _HAT.sub(_hat, text)
    if any(m.group(1) in "jk" for m in _BOLD.finditer(text)):
        text = _BOLD.sub(r"\\hat{\1}", text)
    return text


def _hat(match: re.Match[str]) -> str:
    whole = match.group()
    surplus = whole.count("}") - whole.count("{")
    letter = match.group(1) or match.group(2)
    return f"\\hat{{{letter}}}" + "}" * surplus if surplus >= 0 else whole


def components(node: Node, size: int, work: Work) -> Node | None:
    """The tuple of 2 or 3 components of a sum of multiples of unit vectors."""
    if not 2 <= size <= 3 or node[0] not in ("add", "mul", "div", "sym"):
        return None
    axes = trees.variables(node) & set(_AXES)
    if not axes or not axes <= set(_AXES[:size]):
        return None
    items = []
    for axis in _AXES[:size]:
        item = node
        for other in _AXES:
            item = trees.substitute(item, other, ("num", int(other == axis)))
        items.append(item)
    parts = (
        ("mul", item, ("sym", axis)) for item, axis in zip(items, _AXES, strict=False)
    )
    if not equality.equal(node, ("add", *parts), work):
        return None
    return ("bracket", "(", ")", tuple(items))


def aligned(gold: Node, answer: Node, work: Work) -> tuple[Node, Node]:
    """Both sides as tuples where one of them is a sum of unit vectors."""
    if _size(gold) and (found := components(answer, _size(gold), work)):
        return gold, found
    if _size(answer) and (found := components(gold, _size(answer), work)):
        return found, answer
    return gold, answer


def _size(node: Node) -> int:
    """How many entries a tuple, a row or a column has; 0 for anything else."""
    if node[0] == "bracket":
        return len(node[3])
    if node[0] == "matrix" and 1 in (len(node[1]), len(node[1][0])):
        return len(node[1]) * len(node[1][0])
    return 0
