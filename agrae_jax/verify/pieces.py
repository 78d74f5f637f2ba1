"""Sets of real numbers as sorted pieces, and their algebra.

A piece is (low, low_closed, high, high_closed); None as an end means infinity. Ends
are expressions and are compared by value.
"""

from __future__ import annotations

from typing import Any

from agrae_jax.verify import equality, trees
from agrae_jax.verify.exact import Work
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
Piece = tuple[Node | None, bool, Node | None, bool]
Pieces = tuple[Piece, ...]
REALS: Pieces = ((None, False, None, False),)
_MAX_PIECES = 24


def points(nodes: list[Node] | tuple[Node, ...], work: Work) -> Pieces:
    """The set of these numbers."""
    return tidy(tuple((n, True, n, True) for n in nodes), work)


def same(left: Pieces, right: Pieces, work: Work) -> bool:
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
    return equality.equal(left, right, work)


def tidy(pieces: Pieces, work: Work) -> Pieces:
    """Sorted, without empty pieces, and with pieces that touch joined."""
    if len(pieces) > _MAX_PIECES:
        raise NotUnderstood("a set of too many pieces")
    rest = [p for p in pieces if not _empty(p, work)]
    out: list[Piece] = []
    while rest:
        first = rest[0]
        for piece in rest[1:]:
            order = _order_low(piece[0], first[0], work)
            if order < 0 or (order == 0 and piece[1] and not first[1]):
                first = piece
        rest.remove(first)
        if out and _touch(out[-1], first, work):
            out[-1] = _joined(out[-1], first, work)
        else:
            out.append(first)
    return tuple(out)


def _empty(piece: Piece, work: Work) -> bool:
    low, high = piece[0], piece[2]
    if low is None or high is None:
        return False
    if trees.variables(low) | trees.variables(high):
        return False  # which end is the lower one hangs on the letters
    order = equality.order(low, high, work)
    return order > 0 or (order == 0 and not (piece[1] and piece[3]))


def _order_low(a: Node | None, b: Node | None, work: Work) -> int:
    if a is None or b is None:
        return 0 if a is b else -1 if a is None else 1
    return equality.order(a, b, work)


def _order_high(a: Node | None, b: Node | None, work: Work) -> int:
    if a is None or b is None:
        return 0 if a is b else 1 if a is None else -1
    return equality.order(a, b, work)


def _touch(left: Piece, right: Piece, work: Work) -> bool:
    if left[2] is None or right[0] is None:
        return True
    order = equality.order(left[2], right[0], work)
    return order > 0 or (order == 0 and (left[3] or right[1]))


def _joined(left: Piece, right: Piece, work: Work) -> Piece:
    order = _order_high(left[2], right[2], work)
    if order == 0:
        return left[0], left[1], left[2], left[3] or right[3]
    last = left if order > 0 else right
    return left[0], left[1], last[2], last[3]


def complement(pieces: Pieces, work: Work) -> Pieces:
    """All real numbers outside a set."""
    out: list[Piece] = []
    low: Node | None = None
    closed, unbounded = False, True
    for piece in tidy(pieces, work):
        if piece[0] is not None:
            out.append((low, closed, piece[0], not piece[1]))
        low, closed = piece[2], not piece[3]
        unbounded = piece[2] is not None
    if unbounded:
        out.append((low, closed, None, False))
    return tuple(out)


def intersect(left: Pieces, right: Pieces, work: Work) -> Pieces:
    """The numbers in both sets."""
    if REALS in (left, right):
        return right if left == REALS else left
    outside = complement(left, work) + complement(right, work)
    return complement(tidy(outside, work), work)
