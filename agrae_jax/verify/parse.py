r"""Reads a cleaned answer into a tree of plain tuples. Nothing is evaluated here.

Nodes of expressions: (num, Fraction) (sym, name) (const, name) (add, ..) (mul, ..)
(div, a, b) (pow, a, b) (mod, a, b) (fn, name, args..) (app, name, args..) (fact, a)
(pm, a) (mp, a) (big, sum|prod, variable, low, high, body) (qty, a, unit) (pct, a)
(text, s) (dots,).
Nodes of structures: (list, items, separators) (bracket, open, close, items)
(set, items) (such, element, condition) (rel, operators, members) (ratio, members)
(cong, left, right, modulus) (union|inter|minus, a, b) (matrix, rows, environment).
"""

from __future__ import annotations

from agrae_jax.verify.expressions import Expressions
from agrae_jax.verify.macros import ENVIRONMENTS, RELATIONS, SEPARATORS
from agrae_jax.verify.stream import Node
from agrae_jax.verify.tokens import tokenize
from agrae_jax.verify.types import NotUnderstood

_BRACKETED = {"|": "abs", "lfloor": "floor", "lceil": "ceil"}
_CLOSER = {"|": "|", "lfloor": "rfloor", "lceil": "rceil"}
_SET_OPERATIONS = {"cup": "union", "cap": "inter", "setminus": "minus"}


def parse(
    text: str,
    *,
    letters: frozenset[str] | None = None,
    thousands: bool = True,
    lone_units: bool = False,
) -> Node:
    """Returns the tree of an answer; raises NotUnderstood.

    `letters` are those that a run of letters may be cut into ("ab" = a*b): the
    letters of the gold when a completion is read, any where it is None. With
    `lone_units`, "5 m" is five metres; else it is a product.
    """
    parser = _Parser(tokenize(text, thousands=thousands), letters)
    parser.lone_units = lone_units
    node = parser.answer()
    parser.expect_end()
    return node


class _Parser(Expressions):
    """The grammar of structures around that of expressions."""

    def answer(self, *closers: str) -> Node:
        """Items between separators."""
        items, separators = [self.relation()], []
        while True:
            token = self.peek()
            if token.kind == "end" or (token.kind == "op" and token.value in closers):
                break
            if token.kind != "op" or token.value not in SEPARATORS:
                raise NotUnderstood(f"{token.value[:20]!r} is out of place")
            separator = self.next().value
            if self.op("and", "or"):
                separator = self.next().value
            if self.peek().kind == "end":
                break
            separators.append(separator)
            items.append(self.relation())
        if len(items) == 1:
            return items[0]
        return ("list", tuple(items), tuple(separators))

    def relation(self) -> Node:
        """Members between relation signs."""
        if self.take("~"):
            return self.relation()
        if self.op("=") and self.at == 0:
            self.at += 1
        members, operators = [self.ratio()], []
        while self.peek().kind == "op" and self.peek().value in RELATIONS:
            operators.append(self.next().value)
            members.append(self.ratio())
        if not operators:
            if self.take("pmod"):
                return ("cong", ("text", ""), members[0], self.tex_argument())
            return members[0]
        if len(members) == 2 and operators[0] in ("==", "=") and self.take("pmod"):
            return ("cong", *members, self.tex_argument())
        return ("rel", tuple(operators), tuple(members))

    def ratio(self) -> Node:
        """a : b : c, except where a colon begins a condition."""
        members = [self.union()]
        while not self.in_set and self.take(":"):
            members.append(self.union())
        return members[0] if len(members) == 1 else ("ratio", tuple(members))

    def union(self) -> Node:
        """Sets between the signs of set algebra, from left to right."""
        start = self.at
        node = _without(self.sum())
        if self.op(*_SET_OPERATIONS):
            node = self.bare_set(node, start)
        while self.op(*_SET_OPERATIONS):
            kind, start = _SET_OPERATIONS[self.next().value], self.at
            node = (kind, node, self.bare_set(self.sum(), start))
        return node

    def bare_set(self, node: Node, start: int) -> Node:
        """{1, 2} beside a sign of set algebra, whose braces have lost a backslash."""
        if self.tokens[start].value != "{" or self.tokens[self.at - 1].value != "}":
            return node
        inner = [t.value for t in self.tokens[start + 1 : self.at - 1]]
        if "{" in inner or "}" in inner:
            return node
        if node[0] == "list":
            return ("set", node[1]) if set(node[2]) <= {",", ";"} else node
        return ("set", (node,))

    def group(self, opened: str) -> Node:
        """What follows an opening bracket, to its closing one."""
        self.deeper()
        outer = self.in_set, self.bars
        self.in_set = False
        if opened in _BRACKETED:
            self.bars += opened == "|"
            node: Node = ("fn", _BRACKETED[opened], self.sum())
            self.need(_CLOSER[opened])
        else:
            self.bars = 0
            if opened == "{":
                node = self.answer("}")
                self.need("}")
            elif opened in ("(", "[", "langle"):
                node = self.bracket(opened)
            elif opened == "\\{":
                node = self.braces()
            else:
                raise NotUnderstood(f"{opened!r} is out of place")
        self.in_set, self.bars = outer
        self.depth -= 1
        return node

    def bracket(self, opened: str) -> Node:
        """A group, a tuple or an interval: brackets need not match."""
        items = [self.relation()]
        while self.take(",", ";"):
            items.append(self.relation())
        token = self.next()
        closed = token.value
        if token.kind != "op" or closed not in (")", "]", "rangle"):
            raise NotUnderstood("a bracket that does not close")
        if opened == "langle" or closed == "rangle":
            opened, closed = "(", ")"
        elif len(items) == 1:
            if opened + closed not in ("()", "[]"):
                raise NotUnderstood("brackets that do not match")
            return items[0]
        return ("bracket", opened, closed, tuple(items))

    def braces(self) -> Node:
        """A set by its elements or by a condition."""
        if self.take("\\}"):
            return ("set", ())
        self.in_set = True
        items = [self.relation()]
        if self.take("|", ":"):
            self.in_set = False
            node: Node = ("such", items[0], self.answer("\\}"))
        else:
            while self.take(",", ";", "and"):
                items.append(self.relation())
            node = ("set", tuple(items))
        self.need("\\}")
        return node

    def matrix(self, environment: str) -> Node:
        r"""Rows between \\, entries between &; vmatrix is a determinant."""
        if environment not in ENVIRONMENTS:
            raise NotUnderstood(f"the environment {environment[:20]}")
        self.deeper()
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while self.peek()[:2] != ("matrix", f"end:{environment}"):
            if self.take("hline"):
                continue
            row.append(self.relation())
            if self.take("&"):
                continue
            rows.append(tuple(row))
            row = []
            if not self.take("newline") and self.peek().kind != "matrix":
                raise NotUnderstood("a matrix that does not end")
        self.at += 1
        self.depth -= 1
        if row or not rows or len({len(r) for r in rows}) != 1:
            raise NotUnderstood("rows of different lengths")
        if environment == "array" and len(rows) == len(rows[0]) == 1:
            return rows[0][0]  # layout only
        node = ("matrix", tuple(rows), environment)
        return ("fn", "det", node) if environment == "vmatrix" else node


def _without(node: Node) -> Node:
    r"""R - {1, 2}, written with a minus sign, is R without 1 and 2."""
    if node[0] != "add" or len(node) != 3 or node[1][0] != "const":
        return node
    _, whole, part = node
    if whole[1].startswith("set") and part[0] == "mul" and part[2][0] == "set":
        return ("minus", whole, part[2])
    return node
