r"""Reads a cleaned answer into a tree of plain tuples. Nothing is ever evaluated here.

Nodes of expressions: (num, Fraction) (sym, name) (const, name) (add, ..) (mul, ..)
(div, a, b) (pow, a, b) (fn, name, args..) (app, name, args..) (fact, a) (pm, a)
(mp, a) (big, sum|prod, variable, low, high, body) (qty, a, unit) (pct, a) (text, s)
(mod, a, b).
Nodes of structures: (list, items, separators) (bracket, open, close, items)
(set, items) (such, element, condition) (rel, operators, members) (union|inter|minus,
a, b) (matrix, rows, environment) (ratio, members) (dots,).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from agrae_jax.verify import units
from agrae_jax.verify.tokens import Token, tokenize
from agrae_jax.verify.types import NotUnderstood

Node = tuple[Any, ...]

_MAX_DEPTH = 60
_MAX_DIGITS = 4000
_RELATIONS = frozenset("= < > <= >= != == ~ in notin <>".split())
_SEPARATORS = frozenset([",", ";", "and", "or", "newline"])
_FUNCTION_NAMES = frozenset("fghFGHPQ")
_BRACKETED = {"|": "abs", "lfloor": "floor", "lceil": "ceil"}
_CLOSER = {"|": "|", "lfloor": "rfloor", "lceil": "rceil"}
_STARTS = frozenset(["(", "[", "{", "\\{", "lfloor", "lceil", "langle"])
ZERO, ONE, MINUS_ONE = (("num", Fraction(n)) for n in (0, 1, -1))
END = Token("end", "")


def parse(
    text: str, *, letters: frozenset[str] | None = None, thousands: bool = True
) -> Node:
    """Returns the tree of an answer; raises NotUnderstood.

    `letters` are those that a run of letters may be cut into ("ab" = a*b): the
    letters of the gold when a completion is read, any where it is None.
    """
    parser = _Parser(tokenize(text, thousands=thousands), letters)
    node = parser.answer()
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, tokens: list[Token], letters: frozenset[str] | None):
        self.tokens, self.at, self.letters, self.depth = tokens, 0, letters, 0
        self.bars = 0
        self.in_set = False
        names = {t.value for t in tokens if t.kind == "sym"}
        self.functions = {
            name
            for name in names & _FUNCTION_NAMES
            if all(
                i + 1 < len(tokens) and tokens[i + 1].value in ("(", "'", "^", "_")
                for i, t in enumerate(tokens)
                if t.kind == "sym" and t.value == name
            )
        }

    # -- stream ------------------------------------------------------------
    def peek(self, ahead: int = 0) -> Token:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else END

    def next(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def op(self, *values: str) -> bool:
        token = self.peek()
        return token.kind == "op" and token.value in values

    def take(self, *values: str) -> bool:
        if self.op(*values):
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        if not self.take(value):
            raise NotUnderstood(f"{value!r} is missing")

    def expect_end(self) -> None:
        if self.peek().kind != "end":
            raise NotUnderstood(f"{self.peek().value[:20]!r} is out of place")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise NotUnderstood("nested too deep")

    # -- structures ----------------------------------------------------------
    def answer(self, *closers: str) -> Node:
        """Items between separators."""
        items, separators = [self.relation()], []
        while True:
            token = self.peek()
            if token.kind == "end" or (token.kind == "op" and token.value in closers):
                break
            if token.kind != "op" or token.value not in _SEPARATORS:
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
        if self.take("~"):
            return self.relation()
        if self.op("=") and self.at == 0:
            self.at += 1
        members, operators = [self.ratio()], []
        while self.peek().kind == "op" and self.peek().value in _RELATIONS:
            operators.append(self.next().value)
            members.append(self.ratio())
        if not operators:
            return members[0]
        return ("rel", tuple(operators), tuple(members))

    def ratio(self) -> Node:
        members = [self.union()]
        while not self.in_set and self.take(":"):
            members.append(self.union())
        return members[0] if len(members) == 1 else ("ratio", tuple(members))

    def union(self) -> Node:
        node = self.sum()
        while self.op("cup", "cap", "setminus"):
            kind = {"cup": "union", "cap": "inter", "setminus": "minus"}
            node = (kind[self.next().value], node, self.sum())
        return node

    # -- expressions -----------------------------------------------------------
    def sum(self) -> Node:
        self.deeper()
        terms = [self.term(signed=True)]
        while self.op("+", "-", "+-", "-+"):
            terms.append(self.term(signed=True))
        self.depth -= 1
        return terms[0] if len(terms) == 1 else ("add", *terms)

    def term(self, *, signed: bool = False) -> Node:
        sign = self.sign() if signed else ""
        node = self.product()
        if sign == "-":
            return ("mul", MINUS_ONE, node)
        return node if not sign else ("pm" if sign == "+-" else "mp", node)

    def sign(self) -> str:
        sign = ""
        while self.op("+", "-", "+-", "-+"):
            token = self.next().value
            if token == "-":
                sign = {"": "-", "-": "", "+-": "-+", "-+": "+-"}[sign]
            elif token != "+":
                if sign in ("+-", "-+"):
                    raise NotUnderstood("two signs")
                sign = {"": token, "-": "-+" if token == "+-" else "+-"}[sign]
        return sign

    def product(self) -> Node:
        node = self.power()
        while True:
            if self.op("*", "/", "mod"):
                operator = self.next().value
                sign = self.sign()
                right = self.power()
                if sign == "-":
                    right = ("mul", MINUS_ONE, right)
                elif sign:
                    raise NotUnderstood("two operators")
                kind = {"*": "mul", "/": "div", "mod": "mod"}[operator]
                node = (kind, node, right)
            elif self.op("choose"):
                self.at += 1
                node = ("fn", "binom", node, self.power())
            elif self.op("over"):
                self.at += 1
                node = ("div", node, self.product())
            elif self.is_unit(node):
                node = ("qty", node, self.unit())
            elif self.starts_factor():
                mixed = self.mixed(node)
                node = mixed or ("mul", node, self.power())
            else:
                return node

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "num":
            before = self.tokens[self.at - 1]
            return before.kind != "num" and before.kind != "word"
        if token.kind == "op":
            if token.value == "|":
                return self.bars == 0 and not self.in_set
            return token.value in _STARTS or token.value == "dots"
        if token.kind == "matrix":
            return token.value.startswith("begin")
        return token.kind in ("sym", "word", "fn", "const", "accent")

    def mixed(self, whole: Node) -> Node | None:
        r"""2\frac{1}{2} and 2 1/2 are mixed numbers: only whole digits before them."""
        before = self.tokens[self.at - 1]
        if whole[0] != "num" or before.kind != "num" or "." in before.value:
            return None
        start = self.at
        if self.peek() == ("fn", "frac", self.peek().spaced):
            self.at += 1
            part = self.fraction(digits_only=True)
            if part:
                return ("num", whole[1] + part[1])
        self.at = start
        return None

    def fraction(self, *, digits_only: bool = False) -> Node | None:
        top, bottom = self.tex_argument(), self.tex_argument()
        if not digits_only:
            return ("div", top, bottom)
        if top[0] == bottom[0] == "num" and bottom[1] != 0:
            value = top[1] / bottom[1]
            if top[1].denominator == bottom[1].denominator == 1 and value >= 0:
                return ("num", value)
        return None

    def is_unit(self, node: Node) -> bool:
        token = self.peek()
        if node[0] in ("text", "qty"):
            return False
        if token.kind == "text":
            return True
        if token.kind != "word":
            return False
        if units.known(token.value):
            return len(token.value) > 2 or (token.spaced and node[0] == "num")
        return len(token.value) > 3 and not self.cuttable(token.value)

    def cuttable(self, word: str) -> bool:
        if self.letters is None:
            return len(word) <= 3
        return len(word) <= 12 and set(word) <= self.letters

    def unit(self) -> str:
        words: list[str] = []
        while True:
            token = self.peek()
            if token.kind in ("text", "word"):
                words.append(self.next().value)
            elif self.op("/", "*") and self.peek(1).kind in ("text", "word", "sym"):
                words += [self.next().value, self.next().value]
            elif self.op("^") and words:
                self.at += 1
                exponent = self.exponent()
                if exponent[0] != "num" or exponent[1].denominator != 1:
                    raise NotUnderstood("no unit")
                words.append(f"^{exponent[1]}")
            elif token.kind == "sym" and words and token.spaced:
                words.append(self.next().value)
            elif self.op("in") and self.peek(1).kind in ("end", "op"):
                words.append(self.next().value)
            else:
                return " ".join(words)

    def power(self) -> Node:
        self.deeper()
        node, towering = self.postfix(self.primary()), False
        while self.op("^", "**"):
            self.at += 1
            if self.op("circ", "deg") or self.group_is("circ"):
                node = ("qty", node, "^\\circ")
                self.temperature()
                continue
            if self.peek().kind == "text" or self.group_is_text():
                self.ordinal()
                continue
            exponent = self.exponent()
            if towering:  # 2^3^2 is 2^(3^2)
                node = ("pow", node[1], ("pow", node[2], exponent))
            else:
                node = ("pow", node, exponent)
            towering = True
            if self.op("!", "%"):
                node, towering = self.postfix(node), False
        self.depth -= 1
        return node

    def group_is(self, value: str) -> bool:
        if self.op("{") and self.peek(1).value == value and self.peek(2).value == "}":
            self.at += 2
            return True
        return False

    def group_is_text(self) -> bool:
        return (
            self.op("{")
            and self.peek(1).kind in ("text", "word")
            and (self.peek(2).value == "}")
        )

    def temperature(self) -> None:
        self.at += 1
        if self.peek().value in ("C", "F") and self.peek(1).kind in ("end", "op"):
            self.at += 1

    def ordinal(self) -> None:
        braced = self.take("{")
        if self.next().value not in ("th", "st", "nd", "rd"):
            raise NotUnderstood("words in an exponent")
        if braced:
            self.need("}")

    def exponent(self) -> Node:
        sign = self.sign() if self.op("-", "+") else ""
        node = self.tex_argument(power=True)
        return ("mul", MINUS_ONE, node) if sign == "-" else node

    def tex_argument(self, *, power: bool = False) -> Node:
        """A braced group, or one token; a macro without braces takes one digit."""
        token = self.peek()
        if token.kind == "num" and not power and len(token.value) > 1:
            if not token.value.isdigit():
                raise NotUnderstood("a macro without its argument")
            self.tokens[self.at] = Token("num", token.value[1:], False)
            return ("num", Fraction(int(token.value[0])))
        if token.kind == "op" and token.value not in ("{", "(", "|", "lfloor", "lceil"):
            raise NotUnderstood("a macro without its argument")
        if token.kind == "op" and token.value == "(" and not power:
            raise NotUnderstood("a macro without its argument")
        if token.kind == "fn" and power:
            return self.primary()
        return self.primary()

    def postfix(self, node: Node) -> Node:
        while True:
            if self.take("!"):
                if self.op("!"):
                    raise NotUnderstood("a double factorial")
                node = ("fact", node)
            elif self.take("%"):
                node = ("pct", node)
            elif self.take("deg"):
                node = ("qty", node, "^\\circ")
            else:
                return node

    def primary(self) -> Node:
        token = self.next()
        if token.kind == "num":
            return self.number(token.value)
        if token.kind == "sym":
            return self.symbol(token.value)
        if token.kind == "const":
            if token.value == "empty":
                return ("set", ())
            return ("const", token.value)
        if token.kind == "fn":
            return self.function(token.value)
        if token.kind == "word":
            return self.word(token)
        if token.kind == "text":
            return self.text(token)
        if token.kind == "accent":
            return self.accent(token.value)
        if token.kind == "matrix" and token.value.startswith("begin:"):
            return self.matrix(token.value[6:])
        if token.kind == "op":
            if token.value == "dots":
                return ("dots",)
            return self.group(token.value)
        raise NotUnderstood("the expression ends too early")

    def number(self, digits: str) -> Node:
        if len(digits) > _MAX_DIGITS:
            raise NotUnderstood("a number of too many digits")
        whole = ("num", Fraction(digits))
        first, slash, second = self.peek(), self.peek(1), self.peek(2)
        if (  # 2 1/2
            digits.isdigit()
            and first.kind == "num"
            and first.spaced
            and slash.value == "/"
            and second.kind == "num"
            and first.value.isdigit()
            and second.value.isdigit()
            and 0 < int(first.value) < int(second.value)
        ):
            self.at += 3
            return ("num", whole[1] + Fraction(int(first.value), int(second.value)))
        return whole

    def symbol(self, name: str) -> Node:
        while True:
            if self.take("'"):
                name += "'"
            elif self.take("_"):
                name += "_" + self.raw_argument()
            else:
                break
        base = name[0]
        if base in self.functions or name.endswith("'"):
            if self.op("^") and self.peek(1).value == "{" and self.peek(5).value == "(":
                inverse = [self.peek(k).value for k in (2, 3, 4)]
                if inverse == ["-", "1", "}"]:
                    self.at += 5
                    name += "^-1"
            if self.op("(") and (base in self.functions or "'" in name):
                self.at += 1
                inside = self.group("(")
                args = inside[3] if inside[0] == "bracket" else (inside,)
                return ("app", name, *args)
        return ("sym", name)

    def raw_argument(self) -> str:
        """The tokens of a subscript, as one name."""
        if not self.take("{"):
            token = self.next()
            if token.kind not in ("num", "sym", "text", "word"):
                raise NotUnderstood("an empty subscript")
            if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
                self.tokens.insert(self.at, Token("num", token.value[1:]))
                return token.value[0]
            return token.value
        depth, parts = 1, []
        while depth:
            token = self.next()
            if token.kind == "end" or len(parts) > 40:
                raise NotUnderstood("a subscript that does not end")
            depth += (token.value == "{") - (token.value == "}")
            parts.append(token.value)
        return "".join(parts[:-1])

    def word(self, token: Token) -> Node:
        if self.cuttable(token.value):
            rest = [Token("sym", c) for c in token.value[1:]]
            self.tokens[self.at : self.at] = rest
            return self.symbol(token.value[0])
        words = [token.value]
        while self.peek().kind == "word":
            words.append(self.next().value)
        return ("text", " ".join(words))

    def text(self, token: Token) -> Node:
        if token.value[-1] in units.CURRENCY and len(token.value) <= 3:
            self.at -= 0
            return ("qty", self.product(), token.value)
        words = [token.value]
        while self.peek().kind in ("text", "word"):
            words.append(self.next().value)
        return ("text", " ".join(words))

    def accent(self, name: str) -> Node:
        if self.op("{"):
            self.at += 1
            start, depth = self.at, 1
            while depth:
                token = self.next()
                if token.kind == "end":
                    raise NotUnderstood("unbalanced braces")
                depth += (token.value == "{") - (token.value == "}")
            inside = "".join(t.value for t in self.tokens[start : self.at - 1])
        else:
            inside = self.next().value
        if not inside:
            raise NotUnderstood("an accent over nothing")
        return ("sym", f"{name}:{inside}")

    def function(self, name: str) -> Node:
        from agrae_jax.verify import functions

        return functions.read(self, name)

    def group(self, opened: str) -> Node:
        self.deeper()
        outer, self.in_set = self.in_set, False
        if opened == "{":
            bars, self.bars = self.bars, 0
            node = self.answer("}")
            self.need("}")
            self.bars = bars
        elif opened in ("(", "[", "langle"):
            node = self.bracket(opened)
        elif opened == "\\{":
            node = self.braces()
        elif opened in _BRACKETED:
            self.bars += opened == "|"
            node = ("fn", _BRACKETED[opened], self.sum())
            self.need(_CLOSER[opened])
            self.bars -= opened == "|"
        else:
            raise NotUnderstood(f"{opened!r} is out of place")
        self.in_set = outer
        self.depth -= 1
        return node

    def bracket(self, opened: str) -> Node:
        bars, self.bars = self.bars, 0
        items = [self.relation()]
        while self.take(",", ";"):
            items.append(self.relation())
        self.bars = bars
        closed = self.next()
        if closed.kind != "op" or closed.value not in (")", "]", "rangle"):
            raise NotUnderstood("a bracket that does not close")
        if len(items) == 1 and (opened, closed.value) in (("(", ")"), ("[", "]")):
            return items[0]
        if opened == "langle" or closed.value == "rangle":
            opened, closed = "(", Token("op", ")")
        if len(items) == 1:
            raise NotUnderstood("brackets that do not match")
        return ("bracket", opened, closed.value, tuple(items))

    def braces(self) -> Node:
        bars, self.bars = self.bars, 0
        if self.take("\\}"):
            self.bars = bars
            return ("set", ())
        self.in_set = True
        items = [self.relation()]
        if self.take("|", ":"):
            self.in_set = False
            condition = self.answer("\\}")
            node: Node = ("such", items[0], condition)
        else:
            while self.take(",", ";", "and"):
                items.append(self.relation())
            node = ("set", tuple(items))
        self.need("\\}")
        self.bars = bars
        return node

    def matrix(self, environment: str) -> Node:
        if environment not in (
            "pmatrix bmatrix matrix vmatrix array smallmatrix Bmatrix Vmatrix".split()
        ):
            raise NotUnderstood(f"the environment {environment[:20]}")
        self.deeper()
        rows, row = [], []
        while True:
            if self.peek() == ("matrix", f"end:{environment}", self.peek().spaced):
                self.at += 1
                if row:
                    rows.append(tuple(row))
                break
            if self.peek().value == "hline":
                self.at += 1
                continue
            row.append(self.relation())
            if self.take("&"):
                continue
            rows.append(tuple(row))
            row = []
            if not self.take("newline") and self.peek().kind != "matrix":
                raise NotUnderstood("a matrix that does not end")
        self.depth -= 1
        if not rows or len({len(r) for r in rows}) != 1:
            raise NotUnderstood("rows of different lengths")
        node = ("matrix", tuple(rows), environment)
        return ("fn", "det", node) if environment == "vmatrix" else node
