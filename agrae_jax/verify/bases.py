r"""Numerals of another base: 1010_2, 2\text{A}_{16}, "15 base six", FF_{16}."""

from __future__ import annotations

import re

_BASED = re.compile(
    r"(?<![\w.}\\])\(?(?:(?:\\(?:text|mathrm|mbox)\s*)?\{\s*([0-9A-Z.]+)\s*\}|([0-9A-Z.]+))\)?"
    r"\s*_\s*(?:\{\s*(\\(?:text|mathrm|mbox)\s*\{)?\s*\(?(\w+)\)?\s*(?(3)\}\s*)\}|(\d))"
)
_DIGITS_IN_TEXT = re.compile(  # 2\text{A}_{16}
    r"(?<![A-Za-z\\}])([0-9A-Z]+)\\(?:text|mathrm)\{([0-9A-Z]+)\}(?=\s*_)"
)
_BASE_AFTER = re.compile(
    r"(?<![\w.])(?:\\text\s*\{\s*([0-9A-Z]+)\s*\}|([0-9A-Z]+))\s*(?:\\text\w*\s*\{)?\s*"
    r"\(?\s*(?:in )?base\s*(?:\}\s*)?(?:(\d+|[a-z]+)|(\d))\s*\)?\s*\}?$"
)
_BASE_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "sixteen": 16,
}  # fmt: skip


def to_fractions(text: str) -> str:
    """The text with numerals that have a base and a digit as exact values."""
    if "base" in text:
        text = _BASE_AFTER.sub(_based, text)
    if "_" in text:
        text = _DIGITS_IN_TEXT.sub(r"\1\2", text)
        text = _BASED.sub(_based, text)
    return text


def of_letters(text: str) -> int | None:
    """The value of AB_{16}: letters below a base of 11 to 36, and nothing else.

    It may as well be a name, so whoever asks takes the value only where the other
    side is a number.
    """
    match = _BASED.fullmatch(text) if "_" in text and len(text) < 100 else None
    if match is None:
        return None
    digits, size = _digits_and_base(match)
    if not 11 <= size <= 36 or not digits.isalpha():
        return None
    try:
        return int(digits, size)
    except ValueError:
        return None


def _digits_and_base(match: re.Match[str]) -> tuple[str, int]:
    digits = match.group(1) or match.group(2)
    base = next(g for g in match.groups()[:1:-1] if g)
    number = int(base) if base.isdecimal() and len(base) < 5 else 0
    return digits, _BASE_WORDS.get(base.lower()) or number


def _based(match: re.Match[str]) -> str:
    digits, size = _digits_and_base(match)
    if not 2 <= size <= 36 or not any(c.isdigit() for c in digits):
        return match.group()
    if len(digits) > 300:
        return r"\toolong "
    whole, point, part = digits.partition(".")
    try:
        value = int(whole + part, size)
    except ValueError:
        return match.group()
    return f"(\\frac{{{value}}}{{{size ** len(part)}}})" if point else f"({value})"
