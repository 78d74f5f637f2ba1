r"""Cuts a cleaned answer into tokens; what is not in the tables is not understood.

A token is (kind, value, spaced): kind is one of num, sym, word, text, fn, op, accent,
matrix, const; `spaced` says whether white space stood before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agrae_jax.verify import macros, numbers, units
from agrae_jax.verify.types import NotUnderstood


class Token(NamedTuple):
    """One token of an answer."""

    kind: str
    value: str
    spaced: bool = False


_MAX_TOKENS = 4000
_SCAN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<num>(?:\d+\.?\d*|\.\d+)[eE][+-]?\d{1,4}(?![\w.])"
    r"|\d+(?:\.\d+)?|\.\d+|\d+\.(?!\.))"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<macro>\\[A-Za-z]+\*?)"
    r"|(?P<escaped>\\.)"
    r"|(?P<text>[€£¥₹¢]|(?<=[\d}])\s?\")"
    r"|(?P<op>\*\*|<=|>=|!=|==|<>|[-+*/^_=<>()\[\]{}|,;:!%'&])"
)
_GLUABLE = macros.FUNCTIONS | macros.GREEK | {"leq", "geq", "cdot", "times", "cup"}
_BRACE = re.compile(r"\\.|[{}]")
_JOINED = re.compile(r"[\s,.;]*(and|or|to|in|mod)?[\s,.;:]*", re.I)
_MATHLIKE = re.compile(r"(?:[-+\d\s.,:/()=A-Z]|\band\b|\bor\b|\bto\b)*")
_COUNTED = re.compile(r"([-+]?\d[\d,./]*) ?([A-Za-z][A-Za-z .]+)")
_ENDED = re.compile(r"([\sA-Za-z.]*[A-Za-z.])\s*,?\s+(and|or)\s*", re.I)
_UNIT = re.compile(r"[A-Za-z][A-Za-z/ ]*(?:\^\{?-?\d\}?[A-Za-z/ ]*)*")
_LETTER_LIST = re.compile(
    r"(?:[A-Z]|\([A-Z]\))(?:\s*(?:,|,?\s*and|,?\s*or)\s*(?:[A-Z]|\([A-Z]\)))*"
)


def tokenize(text: str, *, thousands: bool = True) -> list[Token]:
    """Returns the tokens of a cleaned answer; raises NotUnderstood."""
    if thousands:
        text = numbers.join_thousands(text)
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
        elif kind == "text":
            out.append(Token(kind, value.strip().replace('"', "inch"), spaced))
        else:
            out.append(Token(kind, value, spaced))
        spaced = False
        if len(out) > _MAX_TOKENS:
            raise NotUnderstood("too long")
    return out


def _escaped(char: str, out: list[Token], spaced: bool) -> None:
    if char in "{}":
        out.append(Token("op", "\\" + char, spaced))
    elif char in "%|":
        out.append(Token("op", char, spaced))
    elif char == "\\":
        out.append(Token("op", "newline", spaced))
    elif char == "&":
        out.append(Token("op", "and", spaced))
    elif char == "$":
        out.append(Token("text", "$", spaced))
    elif char not in " ,;:!#":
        raise NotUnderstood(f"unknown sign \\{char}")


def _word(word: str, out: list[Token], spaced: bool) -> None:
    if len(word) == 1:
        out.append(Token("sym", word, spaced))
    elif word in macros.PLAIN_FUNCTIONS:
        out.append(Token("fn", macros.ALIASES.get(word, word), spaced))
    elif word in macros.CONSTANTS:
        out.append(Token("const", macros.CONSTANTS[word], spaced))
    elif word in macros.CONNECTIVES:
        out.append(Token("op", macros.CONNECTIVES[word], spaced))
    elif word in macros.GREEK_WORDS:
        out.append(Token("sym", "\\" + word, spaced))
    else:
        out.append(Token("word", word, spaced))


def _macro(text: str, at: int, name: str, out: list[Token], spaced: bool) -> int:
    """Adds the tokens of a macro; returns where reading goes on."""
    name = macros.ALIASES.get(name, name)
    if name == "$":
        out.append(Token("text", "$", spaced))
    elif name in macros.TEXT:
        content, at = argument(text, at)
        _text(content, out, spaced)
    elif name in macros.ROMAN:
        return _roman(text, at, name, out, spaced)
    elif name in macros.NOTHING:
        if name in ("left", "right") and text[at : at + 1] == ".":
            at += 1
    elif name == "textcolor":
        _, at = argument(text, at)
    elif name == "mathbb":
        content, at = argument(text, at)
        if content.strip() not in macros.NUMBER_SETS:
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
    elif name in macros.OPERATORS:
        out.append(Token("op", macros.OPERATORS[name], spaced))
    elif name in macros.FUNCTIONS:
        out.append(Token("fn", name, spaced))
    elif name in macros.CONSTANTS:
        out.append(Token("const", macros.CONSTANTS[name], spaced))
    elif name in macros.GREEK:
        out.append(Token("sym", "\\" + name, spaced))
    elif name in macros.ACCENTS:
        out.append(Token("accent", name, spaced))
    else:
        return _macro(
            text, at - len(_glued(name)), name[: -len(_glued(name))], out, spaced
        )
    return at


def _glued(name: str) -> str:
    """The letters that a lost space glued to a macro, as in \\sinx and \\pir."""
    for size in (1, 2, 3):
        known = name[:-size]
        if known == "pi" or (len(known) > 2 and known in _GLUABLE):
            return name[-size:]
    raise NotUnderstood(f"unknown macro \\{name[:20]}")


def _roman(text: str, at: int, name: str, out: list[Token], spaced: bool) -> int:
    r"""\mathrm of a word is that word; of anything else it is only a typeface."""
    content, after = argument(text, at)
    content = content.strip()
    if not content:
        raise NotUnderstood(f"\\{name} of nothing")
    if content.isalpha() and len(content) > 1:
        if content in macros.PLAIN_FUNCTIONS or content in macros.CONSTANTS:
            _word(content, out, spaced)
        else:
            upright = name in ("mathrm", "operatorname", "operatorname*")
            out.append(Token("text" if upright else "word", content, spaced))
        return after
    measured = bool(out) and (out[-1].kind == "num" or out[-1].value == "}")
    if name == "mathrm" and measured and "\\cdot" in content:  # m \cdot s^{-2}
        content = " ".join(content.replace("\\cdot", " ").split())
    if name == "mathrm" and measured and _unit(content):
        out.append(Token("text", content, spaced))
        return after
    if name == "mathrm" and content in macros.LONE_UNITS and out:
        if out[-1].kind in ("num", "text") or out[-1].value in ("/", "}"):
            out.append(Token("text", content, spaced))
            return after
    return at


def _unit(content: str) -> bool:
    """Whether letters with signs between them are units: m/s^2, m s^{-1}."""
    parts = re.findall(r"[A-Za-z]+", content)
    return (
        bool(re.search(r"[/^ ]", content))
        and bool(_UNIT.fullmatch(content))
        and all(p in macros.LONE_UNITS or units.known(p) for p in parts)
    )


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


def _text(content: str, out: list[Token], spaced: bool) -> None:
    r"""\text holds a connective, something mathematical, or words."""
    joined = _JOINED.fullmatch(content) if len(content) < 100 else None
    measured = bool(out) and (out[-1].kind == "num" or out[-1].value in (")", "}"))
    if joined and not (measured and joined.group(1) == "in"):
        if joined.group(1):
            word = joined.group(1).lower()
            out.append(Token("op", macros.CONNECTIVES[word], True))
        elif "," in content or ";" in content:
            out.append(Token("op", ",", True))
        return
    ended = _ENDED.fullmatch(content) if measured and len(content) < 100 else None
    if ended:  # 2\\text{ hours and }30
        out.append(Token("text", ended.group(1).strip(), spaced))
        out.append(Token("op", ended.group(2).lower(), True))
        return
    if content.strip() in ("-", "+", "="):  # \\text{-}7
        out.append(Token("op", content.strip(), spaced))
        return
    if content[:2] == "\\$":
        out.append(Token("text", "$", spaced))
        content = content[2:]
        if not content.strip():
            return
    counted = _COUNTED.fullmatch(content.strip())
    if counted and not measured:  # "42 units"
        out.extend(tokenize(counted.group(1)))
        out.append(Token("text", counted.group(2), True))
        return
    if content.strip() in macros.PLAIN_FUNCTIONS or content.strip() in macros.CONSTANTS:
        _word(content.strip(), out, spaced)
        return
    content = content.strip().rstrip(".")
    letter = re.fullmatch(r"\(?([A-Za-z])\)?", content)
    if letter and not measured:
        out.append(Token("sym", letter.group(1), spaced))
        return
    letters = _LETTER_LIST.fullmatch(content) and not measured
    if _MATHLIKE.fullmatch(content) and (letters or re.search(r"\d", content)):
        out.extend(tokenize(content))
        return
    out.append(Token("text", " ".join(content.split()), spaced))
