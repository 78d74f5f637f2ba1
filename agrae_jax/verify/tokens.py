r"""Cuts a cleaned answer into tokens. A whitelist: anything else is not understood.

A token is (kind, value, spaced): kind is one of num, sym, word, text, fn, op, accent,
matrix, const; `spaced` says whether white space stood before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agrae_jax.verify.types import NotUnderstood


class Token(NamedTuple):
    """One token of an answer."""

    kind: str
    value: str
    spaced: bool = False


_MAX_TOKENS = 4000
_SCAN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<num>(?:\d+\.?\d*|\.\d+)[eE][+-]?\d{1,4}(?![\w.])|\d+(?:\.\d+)?|\.\d+|\d+\.(?!\.))"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<macro>\\[A-Za-z]+\*?)"
    r"|(?P<escaped>\\.)"
    r"|(?P<op>\*\*|<=|>=|!=|==|<>|->|[-+*/^_=<>()\[\]{}|,;:!%'&@?$])"
)
_TEXT = frozenset(
    "text textbf textit textrm textnormal texttt textsf textup textsc mbox hbox "
    "emph mathtext".split()
)
_ROMAN = frozenset(
    "mathrm operatorname operatorname* mathbf mathit mathsf mathtt bm boldsymbol "
    "mathcal mathscr mathfrak bf rm".split()
)
_NOTHING = frozenset(
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle "
    "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits mathstrut "
    "strut boxed fbox underline mathop mathord mathbin mathrel rm bf it cal large "
    "Large small normalsize centering bold quad qquad".split()
)
_OPERATORS = {
    "le": "<=", "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=", "geq": ">=",
    "geqslant": ">=", "geqq": ">=", "lt": "<", "gt": ">", "ne": "!=", "neq": "!=",
    "not=": "!=", "approx": "~", "simeq": "~", "equiv": "==", "in": "in",
    "notin": "notin", "times": "*", "cdot": "*", "ast": "*", "div": "/", "pm": "+-",
    "mp": "-+", "cup": "cup", "bigcup": "cup", "cap": "cap", "setminus": "setminus",
    "backslash": "setminus", "mid": "|", "vert": "|", "lvert": "|", "rvert": "|",
    "colon": ":", "land": "and", "wedge": "and", "lor": "or", "vee": "or",
    "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")", "langle": "langle",
    "rangle": "rangle", "lfloor": "lfloor", "rfloor": "rfloor", "lceil": "lceil",
    "rceil": "rceil", "prime": "'", "bmod": "mod", "mod": "mod", "ldots": "dots",
    "dots": "dots", "cdots": "dots", "choose": "choose", "percent": "%",
    "degree": "deg", "to": ":", "circ": "circ", "over": "over", "slash": "/",
}  # fmt: skip
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh "
    "coth log ln lg lb exp sqrt frac binom sum prod gcd lcm max min det rootof".split()
)
_ALIASES = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom",
    "tbinom": "binom", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "cosec": "csc", "tg": "tan", "ctg": "cot", "arctg": "arctan",
}  # fmt: skip
_PLAIN_FUNCTIONS = (_FUNCTIONS | {"asin", "acos", "atan", "abs", "floor", "ceil"}) - {
    "frac",
    "binom",
    "sum",
    "prod",
    "rootof",
    "max",
    "min",
    "lb",
    "lg",
    "det",
}
_CONSTANTS = {"pi": "pi", "infty": "inf", "emptyset": "empty", "varnothing": "empty",
              "infinity": "inf", "oo": "inf", "inf": "inf"}  # fmt: skip
GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa "
    "lambda mu nu xi rho varrho sigma tau upsilon phi varphi chi psi omega Gamma Delta "
    "Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell hbar partial nabla angle triangle "
    "aleph star square circledR imath jmath".split()
)
_ACCENTS = frozenset("overline bar vec hat widehat tilde widetilde dot ddot overrightarrow "
                     "overleftrightarrow".split())  # fmt: skip
_CONNECTIVES = {"and": "and", "or": "or", "to": ":", "mod": "mod", "in": "in"}
_LONE_UNITS = frozenset("msghlLNJWVKAFC")
_NUMBER_SETS = frozenset("RNZQC")


def tokenize(text: str, *, thousands: bool = True) -> list[Token]:
    """Returns the tokens of a cleaned answer; raises NotUnderstood."""
    if thousands:
        text = join_thousands(text)
    out: list[Token] = []
    at, spaced, end = 0, False, len(text)
    while at < end:
        match = _SCAN.match(text, at)
        if not match:
            raise NotUnderstood(f"unknown sign {text[at]!r}")
        kind, value = match.lastgroup or "", match.group()
        at = match.end()
        if kind == "space":
            spaced = True
            continue
        if kind == "macro":
            at = _macro(text, at, value[1:], out, spaced)
        elif kind == "word":
            _word(value, out, spaced)
        elif kind == "escaped":
            _escaped(value[1], out, spaced)
        else:
            out.append(Token(kind, value, spaced))
        spaced = False
        if len(out) > _MAX_TOKENS:
            raise NotUnderstood("too long")
    return out


_THOUSANDS = re.compile(
    r"(?<![\d.,_])(?<!\d[, ])(\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+)(?!\s?[\d/]|,\d)"
)


def join_thousands(text: str) -> str:
    """Joins 1,234,567 and 1 234 567 outside brackets, where no list is meant."""
    if "," not in text and " " not in text:
        return text
    out, depth, last = [], 0, 0
    for match in re.finditer(r"\\?[()\[\]{}]|" + _THOUSANDS.pattern, text):
        mark = match.group()
        if mark[-1] in "([{":
            depth += 1
        elif mark[-1] in ")]}":
            depth -= 1
        elif depth <= 0:
            out += [text[last : match.start()], re.sub("[, ]", "", mark)]
            last = match.end()
    out.append(text[last:])
    return "".join(out)


def _escaped(char: str, out: list[Token], spaced: bool) -> None:
    if char in "{}":
        out.append(Token("op", "\\" + char, spaced))
    elif char == "%":
        out.append(Token("op", "%", spaced))
    elif char == "\\":
        out.append(Token("op", "newline", spaced))
    elif char == "|":
        out.append(Token("op", "|", spaced))
    elif char == "$":
        out.append(Token("text", "$", spaced))
    elif char not in " ,;:!":
        raise NotUnderstood(f"unknown sign \\{char}")


def _word(word: str, out: list[Token], spaced: bool) -> None:
    if len(word) == 1:
        out.append(Token("sym", word, spaced))
    elif word in _PLAIN_FUNCTIONS:
        out.append(Token("fn", _ALIASES.get(word, word), spaced))
    elif word in _CONSTANTS:
        out.append(Token("const", _CONSTANTS[word], spaced))
    elif word in _CONNECTIVES:
        out.append(Token("op", _CONNECTIVES[word], spaced))
    elif word in GREEK and word not in ("star", "square", "angle", "triangle"):
        out.append(Token("sym", "\\" + word, spaced))
    else:
        out.append(Token("word", word, spaced))


def _macro(text: str, at: int, name: str, out: list[Token], spaced: bool) -> int:
    """Adds the tokens of a macro; returns where reading goes on."""
    name = _ALIASES.get(name, name)
    if name in _TEXT:
        content, at = argument(text, at)
        _text(content, out, spaced)
    elif name in _ROMAN:
        content, after = argument(text, at)
        content = content.strip()
        if content.isalpha() and len(content) > 1:
            if content in _PLAIN_FUNCTIONS or content in _CONSTANTS:
                _word(content, out, spaced)
            else:
                out.append(Token("text", content, spaced))
            return after
        if not content:
            raise NotUnderstood(f"\\{name} of nothing")
        if name == "mathrm" and content in _LONE_UNITS and out:
            if out[-1].kind in ("num", "text") or out[-1].value in ("/", "}"):
                out.append(Token("text", content, spaced))
                return after
        return at
    elif name in _NOTHING:
        if name in ("left", "right") and text[at : at + 1] == ".":
            at += 1
    elif name == "textcolor":
        _, at = argument(text, at)
    elif name == "mathbb":
        content, at = argument(text, at)
        if content.strip() not in _NUMBER_SETS:
            raise NotUnderstood("unknown set")
        out.append(Token("const", "set" + content.strip(), spaced))
    elif name in ("begin", "end"):
        content, at = argument(text, at)
        if name == "begin" and content.startswith("array"):
            _, at = argument(text, at)
        out.append(Token("matrix", f"{name}:{content.rstrip('*')}", spaced))
    elif name == "not" and text[at : at + 1] == "=":
        out.append(Token("op", "!=", spaced))
        at += 1
    elif name in _OPERATORS:
        out.append(Token("op", _OPERATORS[name], spaced))
    elif name in _FUNCTIONS:
        out.append(Token("fn", name, spaced))
    elif name in _CONSTANTS:
        out.append(Token("const", _CONSTANTS[name], spaced))
    elif name in GREEK:
        out.append(Token("sym", "\\" + name, spaced))
    elif name in _ACCENTS:
        out.append(Token("accent", name, spaced))
    else:
        raise NotUnderstood(f"unknown macro \\{name[:20]}")
    return at


_BRACE = re.compile(r"\\.|[{}]")


def argument(text: str, at: int) -> tuple[str, int]:
    """The braced argument (or single character) at a position, and where it ends."""
    while at < len(text) and text[at] == " ":
        at += 1
    if at >= len(text):
        raise NotUnderstood("a macro without its argument")
    if text[at] != "{":
        return text[at], at + 1
    depth = 0
    for match in _BRACE.finditer(text, at):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                return text[at + 1 : match.start()], match.end()
    raise NotUnderstood("unbalanced braces")


_JOINED = re.compile(r"[\s,.;]*(and|or|to|in|mod)?[\s,.;:]*", re.I)
_MATHLIKE = re.compile(r"[-+\d\s.,:/()=A-Z]*")


def _text(content: str, out: list[Token], spaced: bool) -> None:
    r"""\text holds a connective, something mathematical, or words."""
    joined = _JOINED.fullmatch(content)
    if joined:
        if joined.group(1):
            out.append(Token("op", _CONNECTIVES[joined.group(1).lower()], True))
        elif "," in content or ";" in content:
            out.append(Token("op", ",", True))
        return
    if _MATHLIKE.fullmatch(content) and re.search(
        r"\d|^[A-Z](?:\s*,\s*[A-Z])*$", content
    ):
        out.extend(tokenize(content))
        return
    out.append(Token("text", " ".join(content.split()), spaced))
