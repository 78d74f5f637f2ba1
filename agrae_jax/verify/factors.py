r"""The grammar of factors: numbers, letters, functions, groups and their powers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from agrae_jax.verify import functions, units
from agrae_jax.verify.stream import Node, Stream
from agrae_jax.verify.tokens import Token
from agrae_jax.verify.types import NotUnderstood

_MAX_DIGITS = 4000
_NEGATED = {"": "-", "-": "", "+-": "-+", "-+": "+-"}
MINUS_ONE = ("num", Fraction(-1))


class Factors(Stream, ABC):
    """Reads one factor; what it may contain is read by the subclasses."""

    @abstractmethod
    def group(self, opened: str) -> Node:
        """What follows an opening bracket, to its closing one."""

    @abstractmethod
    def matrix(self, environment: str) -> Node:
        r"""What follows \begin{environment}."""

    @abstractmethod
    def product(self) -> Node:
        """Factors with or without a sign between them."""

    def sign(self) -> str:
        """Reads signs: "", "-", "+-" or "-+"."""
        sign = ""
        while self.op("+", "-", "+-", "-+"):
            token = self.next().value
            if token == "-":
                sign = _NEGATED[sign]
            elif token != "+":
                if sign in ("+-", "-+"):
                    raise NotUnderstood("two signs")
                sign = _NEGATED[token] if sign == "-" else token
        return sign

    def cuttable(self, word: str) -> bool:
        """Whether a run of letters is a product of them."""
        if self.letters is None:
            return len(word) <= 3
        return len(word) <= 12 and set(word) <= self.letters

    def power(self) -> Node:
        """A factor with its exponents; ^\\circ is a degree, 5^{th} is 5."""
        self.deeper()
        node: Node = self.postfix(self.primary())
        towering = False
        while self.take("^", "**"):
            if self.take("circ", "deg") or self.braced_only("circ"):
                node = ("qty", node, "^\\circ" + self.scale())
                continue
            if self.ordinal():
                continue
            if node[0] == "const" and node[1].startswith("set"):
                node = self.half_set(node)
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

    def scale(self) -> str:
        """Celsius or Fahrenheit after a degree sign."""
        if self.peek().value in ("C", "F", "Celsius", "Fahrenheit"):
            return " " + self.next().value
        return ""

    def half_set(self, node: Node) -> Node:
        """The positive or negative part of a set of numbers."""
        braced = self.take("{")
        sign = self.next().value
        if sign not in ("+", "-") or (braced and not self.take("}")):
            raise NotUnderstood("a power of a set")
        return ("const", node[1] + sign)

    def braced_only(self, value: str) -> bool:
        """Reads {value} where exactly that follows."""
        if self.op("{") and self.peek(1).value == value and self.peek(2).value == "}":
            self.at += 3
            return True
        return False

    def ordinal(self) -> bool:
        """Reads th, st, nd, rd in an exponent."""
        braced = int(self.op("{"))
        token = self.peek(braced)
        if token.kind not in ("text", "word"):
            return False
        if token.value not in ("th", "st", "nd", "rd"):
            raise NotUnderstood("words in an exponent")
        self.at += 1 + braced
        if braced:
            self.need("}")
        return True

    def exponent(self) -> Node:
        """What stands after ^: a group, or a signed token; digits stay together."""
        sign = self.sign() if self.op("-", "+") else ""
        if self.take("top"):
            return ("sym", "T")
        token = self.peek()
        if token.kind == "op" and token.value not in ("{", "(", "|", "lfloor", "lceil"):
            raise NotUnderstood("an exponent is missing")
        node = self.primary()
        return ("mul", MINUS_ONE, node) if sign == "-" else node

    def tex_argument(self) -> Node:
        r"""A braced group, or one token, of digits only the first: \frac12."""
        token = self.peek()
        if token.kind == "num" and len(token.value) > 1:
            if not token.value.isdigit():
                raise NotUnderstood("a macro without its argument")
            self.tokens[self.at] = Token("num", token.value[1:], False)
            return ("num", Fraction(int(token.value[0])))
        if token.kind == "op" and token.value != "{":
            raise NotUnderstood("a macro without its argument")
        return self.primary()

    def postfix(self, node: Node) -> Node:
        """Factorials, percent and degree signs."""
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
        """A number, name, function, group or matrix."""
        token = self.next()
        if token.kind == "num":
            return self.number(token.value)
        if token.kind == "sym":
            return self.symbol(token.value)
        if token.kind == "const":
            return ("set", ()) if token.value == "empty" else ("const", token.value)
        if token.kind == "fn":
            return functions.read(self, token.value)
        if token.kind in ("word", "text"):
            return self.words(token)
        if token.kind == "accent":
            return ("sym", f"{token.value}:{self.braced()}")
        if token.kind == "matrix" and token.value.startswith("begin:"):
            return self.matrix(token.value[6:])
        if token.kind == "op":
            return ("dots",) if token.value == "dots" else self.group(token.value)
        raise NotUnderstood("the expression ends too early")

    def number(self, digits: str) -> Node:
        """A number, or 2 1/2 as a mixed one."""
        if len(digits) > _MAX_DIGITS:
            raise NotUnderstood("a number of too many digits")
        whole = ("num", Fraction(digits))
        first, slash, second = self.peek(), self.peek(1), self.peek(2)
        numeric = first.kind == second.kind == "num" and slash.value == "/"
        if not numeric or not first.spaced:
            return whole
        if not all(t.isdigit() for t in (digits, first.value, second.value)):
            return whole
        if not 0 < int(first.value) < int(second.value):
            return whole
        self.at += 3
        return ("num", whole[1] + Fraction(int(first.value), int(second.value)))

    def symbol(self, name: str) -> Node:
        """A letter with its primes and subscripts, applied if it is a function."""
        while True:
            if self.take("'"):
                name += "'"
            elif self.take("_"):
                name += "_" + self.braced()
            else:
                break
        applied = name[0] in self.functions or name.endswith("'")
        if applied and self.op("^"):
            inverse = [self.peek(k).value for k in range(1, 6)]
            if inverse == ["{", "-", "1", "}", "("]:
                self.at += 5
                name += "^-1"
        if applied and self.take("("):
            inside = self.group("(")
            args = inside[3] if inside[0] == "bracket" else (inside,)
            return ("app", name, *args)
        return ("sym", name)

    def words(self, token: Token) -> Node:
        """Letters to be multiplied, a currency sign, or words."""
        if token.kind == "word" and self.cuttable(token.value):
            rest = [Token("sym", c) for c in token.value[1:]]
            self.tokens[self.at : self.at] = rest
            return self.symbol(token.value[0])
        currency = token.value[-1] in units.CURRENCY and len(token.value) <= 3
        if currency or token.value.upper() in units.CURRENCY_CODES:
            return ("qty", self.product(), token.value)
        words = [token.value]
        while self.peek().kind in ("text", "word"):
            words.append(self.next().value)
        return ("text", " ".join(words))
