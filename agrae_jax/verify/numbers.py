"""Ordinary numbers, read exactly from text: the fast path of the verifier.

Integers, decimals, a/b, LaTeX fractions of integers, thousands separators and
e-notation, each with a sign. Pure string work, no third-party import, so the parent
process may use it itself.
"""

from __future__ import annotations

import re
from fractions import Fraction

_MAX_DIGITS = 400  # longer ones go through `digits_key`
_MAX_EXPONENT = 400
_SIGN_SPACE = re.compile(r"(?<=^[+-])\s+")
_UNSIGNED = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+"
_DECIMAL = re.compile(rf"([+-]?)({_UNSIGNED})")
_SCIENTIFIC = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))[eE]([+-]?\d{1,3})")
_SLASH = re.compile(r"([+-]?)(\d+)/(\d+)")
_FRAC = re.compile(r"([+-]?)\\[dtc]?frac(?:\{([+-]?\d+)\}|(\d))(?:\{([+-]?\d+)\}|(\d))")


def ordinary(text: str) -> Fraction | None:
    """Returns the exact value of an ordinary number, None for anything else."""
    if not text or len(text) > _MAX_DIGITS:
        return None
    if text.isdigit() and text.isascii():
        return Fraction(int(text))
    text = text.strip("$ \n\t").replace(",\\!", ",").replace("{,}", ",")
    text = _SIGN_SPACE.sub("", text[:-1] if text[-1:] in (".", ",") else text)
    match = _DECIMAL.fullmatch(text)
    if not match:
        return _fraction(text)
    sign, digits = match.groups()
    if not digits.isascii():
        return None
    value = Fraction(digits.replace(",", ""))
    return -value if sign == "-" else value


def _fraction(text: str) -> Fraction | None:
    if not text.isascii():
        return None
    match = _SLASH.fullmatch(text)
    if match:
        sign, top, bottom = match.groups()
    else:
        match = _FRAC.fullmatch(text)
        if match:
            sign = match.group(1)
            top = match.group(2) or match.group(3)
            bottom = match.group(4) or match.group(5)
        else:
            match = _SCIENTIFIC.fullmatch(text)
            if not match or abs(int(match.group(2))) > _MAX_EXPONENT:
                return None
            return Fraction(match.group(1)) * Fraction(10) ** int(match.group(2))
    if int(bottom) == 0:
        return None
    value = Fraction(int(top), int(bottom))
    return -value if sign == "-" else value


def digits_key(text: str) -> tuple[bool, str, str] | None:
    """Sign, integer digits and fraction digits of a decimal of any length.

    Two decimals are equal exactly where their keys are; no integer is built, so a
    million digits cost no more than reading them.
    """
    match = _DECIMAL.fullmatch(text)
    if not match or not text.isascii():
        return None
    sign, digits = match.groups()
    whole, _, part = digits.replace(",", "").partition(".")
    whole, part = whole.lstrip("0"), part.rstrip("0")
    return sign == "-" and bool(whole or part), whole, part


_THOUSANDS = re.compile(
    r"\\?[()\[\]{}]|,\s|(?<![\d.,_])(?<!\d[, ])"
    r"(?:\d{1,3}(?:,\d{3})+(?!\s?\d|,\d)|\d{1,3}(?: \d{3})+(?!\s?[\d/]|,\d))"
)


def join_thousands(text: str) -> str:
    """Joins the groups of 1,234,567 and 1 234 567.

    Inside brackets a comma separates items, (1,200) is a pair; only where its items
    are set apart by a comma and a space, as in (10,000, 20), are groups joined too.
    """
    if "," not in text and " " not in text:
        return text
    groups: list[list[tuple[int, int]]] = [[]]
    spaced = [True]
    joined: list[tuple[int, int]] = []
    for match in _THOUSANDS.finditer(text):
        mark = match.group()
        if mark in "{}":  # of TeX, not of a set
            continue
        if mark[-1] in "([{":
            groups.append([])
            spaced.append(False)
        elif mark[-1] in ")]}":
            if len(groups) > 1:
                group = groups.pop()
                joined += group if spaced.pop() else []
        elif mark[0] == ",":
            spaced[-1] = True
        else:
            groups[-1].append(match.span())
    joined += groups[0]
    out, last = [], 0
    for start, end in sorted(joined):
        out += [text[last:start], re.sub("[, ]", "", text[start:end])]
        last = end
    return "".join(out) + text[last:]
