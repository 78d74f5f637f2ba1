"""Matrices of expressions: sums, products, multiples, powers, determinants."""

from __future__ import annotations

from typing import Any

from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]
Rows = tuple[tuple[Node, ...], ...]
_MAX_CELLS = 400


def rows_of(node: Node) -> Rows | None:
    """The entries of a matrix-valued tree, as expressions; None if it is no matrix."""
    tag = node[0]
    if tag == "matrix":
        if node[2] in ("vmatrix", "Vmatrix"):
            return None
        rows = node[1]
        if len(rows) * len(rows[0]) > _MAX_CELLS:
            raise NotUnderstood("a matrix of too many entries")
        return rows
    if tag == "add":
        return _add([rows_of(c) for c in node[1:]])
    if tag == "mul":
        product: Rows | None = None
        scalars: list[Node] = []
        for child in node[1:]:
            rows = rows_of(child)
            if rows is None:
                scalars.append(child)
            else:
                product = rows if product is None else _times(product, rows)
        if product is None:
            return None
        return tuple(
            tuple(("mul", *scalars, entry) if scalars else entry for entry in row)
            for row in product
        )
    if tag == "div":
        top = rows_of(node[1])
        if top is None:
            return None
        return tuple(tuple(("div", e, node[2]) for e in row) for row in top)
    if tag == "pow":
        base = rows_of(node[1])
        if base is None:
            return None
        if node[2] == ("sym", "T"):
            return tuple(zip(*base, strict=True))
        if node[2][0] != "num" or node[2][1] not in (2, 3, 4):
            raise NotUnderstood("a power of a matrix")
        result = base
        for _ in range(int(node[2][1]) - 1):
            result = _times(result, base)
        return result
    return None


def _add(parts: list[Rows | None]) -> Rows | None:
    if all(p is None for p in parts):
        return None
    first = parts[0]
    if first is None or any(
        p is None or len(p) != len(first) or len(p[0]) != len(first[0]) for p in parts
    ):
        raise NotUnderstood("a sum of different shapes")
    return tuple(
        tuple(
            ("add", *(p[i][j] for p in parts if p is not None))
            for j in range(len(first[0]))
        )
        for i in range(len(first))
    )


def _times(left: Rows, right: Rows) -> Rows:
    if len(left[0]) != len(right) or len(left) * len(right[0]) * len(right) > 2000:
        raise NotUnderstood("a product of different shapes")
    return tuple(
        tuple(
            ("add", *(("mul", row[k], right[k][j]) for k in range(len(right))))
            for j in range(len(right[0]))
        )
        for row in left
    )


def determinant(node: Node) -> Node:
    """The determinant of a square matrix of at most 5 rows, as an expression."""
    rows = node[1] if node[0] == "matrix" else None
    if rows is None or len(rows) != len(rows[0]) or len(rows) > 5:
        raise NotUnderstood("no determinant")
    return _expand(rows)


def _expand(rows: Rows) -> Node:
    if len(rows) == 1:
        return rows[0][0]
    terms = []
    for j, entry in enumerate(rows[0]):
        minor = tuple(row[:j] + row[j + 1 :] for row in rows[1:])
        sign = ("num", -1 if j % 2 else 1)
        terms.append(("mul", sign, entry, _expand(minor)))
    return ("add", *terms)
