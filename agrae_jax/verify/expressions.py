r"""The grammar of sums and products: signs, mixed numbers, units."""

from __future__ import annotations

from agrae_jax.verify import macros, units
from agrae_jax.verify.factors import MINUS_ONE, Factors
from agrae_jax.verify.stream import Node
from agrae_jax.verify.types import NotUnderstood

_STARTS = frozenset(["(", "[", "{", "\\{", "lfloor", "lceil", "langle", "dots"])
_KINDS = {"*": "mul", "/": "div", "mod": "mod"}


class Expressions(Factors):
    """Reads expressions; structures are read by the subclass in parse.py."""

    def sum(self) -> Node:
        """Terms between plus and minus signs."""
        self.deeper()
        terms = [self.signed_term()]
        while self.op("+", "-", "+-", "-+"):
            terms.append(self.signed_term())
        self.depth -= 1
        if len(terms) == 1:
            return terms[0]
        return _lifted(terms)

    def signed_term(self) -> Node:
        """A product with its sign."""
        sign = self.sign()
        node = self.product()
        if sign == "-":
            return ("mul", MINUS_ONE, node)
        return node if not sign else ("pm" if sign == "+-" else "mp", node)

    def product(self) -> Node:
        """Factors with or without a sign between them, and a unit at the end."""
        node = self.power()
        while True:
            if self.op("*", "/", "mod"):
                kind = _KINDS[self.next().value]
                sign = self.sign()
                right = self.power()
                if sign == "-":
                    right = ("mul", MINUS_ONE, right)
                elif sign:
                    raise NotUnderstood("two operators")
                node = (kind, node, right)
            elif self.take("choose"):
                node = ("fn", "binom", node, self.power())
            elif self.take("over"):
                node = ("div", node, self.product())
            elif self.is_unit(node):
                node = ("qty", node, self.unit())
            elif self.starts_factor():
                mixed = self.mixed(node)
                node = self.measured(mixed) if mixed else ("mul", node, self.power())
            else:
                return node

    def measured(self, number: Node) -> Node:
        """A mixed number with what may follow it: !, %, a degree sign."""
        if self.op("^") and (
            self.peek(1).value == "circ" or self.peek(2).value == "circ"
        ):
            self.at += 1
            if self.take("circ") or self.braced_only("circ"):
                return ("qty", number, "^\\circ" + self.scale())
        return self.postfix(number)

    def starts_factor(self) -> bool:
        """Whether a factor may begin here without a sign before it."""
        token = self.peek()
        if token.kind == "num":
            before = self.tokens[self.at - 1]
            return before.kind not in ("num", "word", "sym")
        if token.kind == "op":
            if token.value == "|":
                return self.bars == 0 and not self.in_set
            return token.value in _STARTS
        if token.kind == "matrix":
            return token.value.startswith("begin")
        return token.kind in ("sym", "word", "fn", "const", "accent")

    def mixed(self, whole: Node) -> Node | None:
        r"""2\frac{1}{2} is a mixed number: whole digits, then a numeric fraction."""
        before = self.tokens[self.at - 1]
        if whole[0] != "num" or before.kind != "num" or not before.value.isdigit():
            return None
        if self.peek()[:2] != ("fn", "frac") or not self.numeric_arguments():
            return None
        self.at += 1
        top, bottom = self.tex_argument(), self.tex_argument()
        if bottom[1] == 0:
            raise NotUnderstood("a fraction over zero")
        return ("num", whole[1] + top[1] / bottom[1])

    def numeric_arguments(self) -> bool:
        """Whether two arguments of digits follow; looks ahead, reads nothing twice."""
        ahead = 1
        for first in (True, False):
            token = self.peek(ahead)
            if token.kind == "num" and token.value.isdigit():
                if first and len(token.value) > 1:
                    return True
                ahead += 1
            elif token.value == "{" and self.peek(ahead + 2).value == "}":
                inside = self.peek(ahead + 1)
                if inside.kind != "num" or not inside.value.isdigit():
                    return False
                ahead += 3
            else:
                return False
        return True

    # -- units ---------------------------------------------------------------------
    def is_unit(self, node: Node) -> bool:
        """Whether the next token is a word that measures what was just read."""
        token = self.peek()
        if node[0] in ("text", "qty"):
            return False
        if token.kind == "text":
            return True
        if token.kind == "sym" and self.lone_units and node[0] == "num":
            known = token.value in macros.LONE_UNITS
            return known and token.value not in (self.letters or ())
        if token.kind != "word":
            return False
        if self.cuttable(token.value) and len(token.value) < 3:
            return units.known(token.value) and token.spaced and node[0] == "num"
        return units.known(token.value) or not self.cuttable(token.value)

    def whole_exponent(self) -> int:
        """The exponent of a unit, such as 2 or -1."""
        exponent = self.exponent()
        sign = 1
        if exponent[0] == "mul" and exponent[1] == MINUS_ONE:
            sign, exponent = -1, exponent[2]
        if exponent[0] != "num" or exponent[1].denominator != 1:
            raise NotUnderstood("no unit")
        return sign * int(exponent[1])

    def unit(self) -> str:
        """The words of a unit."""
        words: list[str] = []
        while True:
            token = self.peek()
            if token.kind in ("text", "word"):
                words.append(self.next().value)
            elif self.op("/", "*") and self.peek(1).kind in ("text", "word", "sym"):
                words += [self.next().value, self.next().value]
            elif self.op("^") and words:
                self.at += 1
                words.append(f"^{self.whole_exponent()}")
            elif token.kind == "sym" and (token.spaced or not words):
                words.append(self.next().value)
            elif self.op("in") and self.peek(1).kind in ("end", "op"):
                words.append(self.next().value)
            else:
                return " ".join(words)


def _lifted(terms: list[Node]) -> Node:
    """A sum; a unit after its last term alone measures the whole of it."""
    last, inner = terms[-1], terms[-1]
    negative = last[0] == "mul" and last[1] == MINUS_ONE
    if negative:
        inner = last[2]
    alone = not any(
        t[0] == "qty" or (t[0] == "mul" and t[-1][0] == "qty") for t in terms[:-1]
    )
    if inner[0] != "qty" or inner[2] == "^\\circ" or not alone:
        return ("add", *terms)
    bare = ("mul", MINUS_ONE, inner[1]) if negative else inner[1]
    return ("qty", ("add", *terms[:-1], bare), inner[2])
