r"""Brings the spellings of one notation together, before anything is parsed.

Unicode signs become LaTeX, delimiters and layout disappear, repeating decimals and
numerals with a base become exact fractions. What is left is ASCII LaTeX. Every step
is linear in the text.
"""

from __future__ import annotations

import re

from agrae_jax.verify import bases, signs, vectors, wrapping

MAX_CHARS = 12_000  # longer answers are compared as text only

_MATH_DELIMITER = re.compile(r"(?<!\\)(?:\\[()\[\]]|\$)")
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![a-zA-Z])")
_BRACED_SIGN = re.compile(  # 4{:}9, 3\text{.}14: for the spacing only
    r"\{\s*([-+:.])\s*\}|\\(?:text|mbox|mathrm)\s*\{\s*([:.])\s*\}"
)
_NEGATIVE_SPACE = re.compile(r"\\!|\{\s*\\!\s*\}")
_MARKED_THOUSANDS = re.compile(  # 32{,}349 and 32,\! 349: no comma of a list
    r"(?<=\d)(?:\{,\}|,\s*\\!\s*)(?=\d{3}(?!\d))"
)
_ESCAPED_TWICE = re.compile(  # as in JSON: \\frac for \frac
    r"\\\\(?=(?:[dtc]?frac|sqrt|left|right|pi|theta|cdot|times|text|mathbb|infty|cup"
    r"|leq?|geq?|in|pm)(?![a-zA-Z]))"
)
_SPACE = re.compile(
    r"(?<!\\)\\[,;:> ]|~|\\(?:enspace|thinspace|hfill)(?![a-zA-Z])|\\q?quad"
    r"|\\displaystyle(?![a-zA-Z])|\s+"
)
_DROPPED_WITH_ARG = re.compile(
    r"\\(?:[hv]?phantom|hspace\*?|vspace\*?|label|tag\*?|color)\s*(?:\{[^{}]*\}|[^\\{}\s])"
)
_LONE_BACKSLASH = re.compile(r"(?<!\\)\\\s*$")
_PREAMBLE = re.compile(
    r"^\s*(?:\\(?:text\w*|mbox)\s*\{)?\s*(?:(?:so |thus |hence |therefore,? )?the "
    r"(?:final |correct )?(?:answer|result|value|solution) is\s*:?"
    r"|(?:final )?answer\s*(?:is|:))\s*(?:\}|(?=[^{}]*$))"
    r"|^\s*\\(?:therefore|Rightarrow|Longrightarrow|implies)(?![a-zA-Z])",
    re.I,
)
_ALL_IN_TEXT = re.compile(r"(\s*\\(?:text\w*|mbox)\s*\{)([^{}]*)(\}\s*)")
_ALIGNED = re.compile(r"\\(?:begin|end)\s*\{(?:aligned|align\*?|gathered|split)\}")
_BRACED_SPACE = re.compile(r"\{\s*\\[,;: ]\s*\}")
_MARKDOWN = re.compile(r"^[\s`]*\*\*(.+?)\*\*[\s`]*$|^`+(.+?)`+$", re.S)
_REPEATING = re.compile(
    r"(?<!\d)(\d*)\.(\d*)\\(?:overline|bar|overbar)\s*(?:\{\s*(\d+)\s*\}|(\d))(?![\d.])"
)
_DOTTED = re.compile(
    r"(?<!\d)(\d*)\.(\d*)\\dot\s*\{?(\d)\}?(?:(\d*)\\dot\s*\{?(\d)\}?)?(?![\d.])"
)
_BRACKETED = re.compile(r"(?<![\d.])(\d*)\.(\d*)\((\d+)\)(?![\d.(^])")
_ELLIPSIS = re.compile(r"(?<![\d.,])(\d*)\.(\d{3,})\s*(?:\.\.\.|\\[lcd]?dots)")
_UNIT_FRACTION = re.compile(
    r"\\frac\{\\(?:text|mathrm)\{([^{}]{1,20})\}\}"
    r"\{\\(?:text|mathrm)\{([^{}]{1,20})\}(\^\{?\d\}?)?\}"
)
_SLASH_UNIT = re.compile(r"(?<=\d)\s?((?:k?m|cm|ft|mi)/(?:s|h|hr|sec|min))\b")
_WORD_DOT = re.compile(r"(?<=[A-Za-z]{2})\.(?=[\s}]|$)")
_HALF_LINE = re.compile(r"\\mathbb\{R\}_\{?\s*(?:\\(ge|geq|le|leq)|([<>]=?))\s*0\s*\}?")
_TIMES_TEN = re.compile(r"(?<=[\d.])\s?[xX]\s?(?=10\s?\^)")
_ALL_REALS = re.compile(
    r"(?:\\(?:text\w*|mbox)\s*\{)?\s*\b(?:all |any |the )?"
    r"(?:(positive|negative|non-?negative|non-?positive) )?real(?:s| numbers?)\b\s*"
    r"((?:except|other than)(?: for)?)?\s*(?:\}|$)"
)
_OPEN_OUTWARDS = re.compile(  # ]0, 1[ is (0, 1)
    r"(?:\\left)?\s*([\[\]])([^\[\]()]+)([\[\]])"
)


def clean(text: str) -> str:
    r"""Returns the answer in one spelling; the meaning of nothing is decided here.

    `\phantom` hides what it covers, so that goes too.
    """
    if not text.isascii():
        text = signs.to_ascii(text)
    text = text.replace("\x00", "")
    bold = _MARKDOWN.match(text)
    if bold:
        text = bold.group(1) or bold.group(2)
    if "$" in text or "\\" in text:
        text = _BOX.sub(" ", _MATH_DELIMITER.sub(" ", text))
        text = _NEGATIVE_SPACE.sub("", _MARKED_THOUSANDS.sub("", text))
        text = _BRACED_SPACE.sub(" ", text)
        if _ALIGNED.search(text):
            text = _ALIGNED.sub(" ", text).replace("&", " ")
        if "\\\\" in text and "begin" not in text:
            text = _ESCAPED_TWICE.sub(r"\\", text)
        text = text.replace("\\lbrace", "\\{ ").replace("\\rbrace", "\\} ")
        text = _DROPPED_WITH_ARG.sub(" ", text)
    text = _BRACED_SIGN.sub(_unbraced, text.replace("{,}", ","))
    text = _LONE_BACKSLASH.sub("", _SPACE.sub(" ", text)).strip()
    worded = _ALL_IN_TEXT.fullmatch(text)
    if worded:
        text = worded[1] + _PREAMBLE.sub("", worded[2]) + worded[3]
    text = _PREAMBLE.sub("", text)
    if "." in text:
        text = _REPEATING.sub(_repeating, text)
        text = _DOTTED.sub(_dotted, text)
        text = _BRACKETED.sub(_repeating, text)
        text = _ELLIPSIS.sub(_ellipsis, text)
    if "real" in text:
        text = _ALL_REALS.sub(_reals, text)
    if text[-1:] in ("[", "]"):
        text = _turned(text)
    if "\\frac{\\" in text:
        text = _UNIT_FRACTION.sub(r"\\text{\1/\2}\3", text)
    text = _SLASH_UNIT.sub(r" \\text{\1}", _WORD_DOT.sub("", text))
    text = _HALF_LINE.sub(_half_line, text)
    text = _TIMES_TEN.sub(r"\\times ", text)
    text = vectors.with_hats(wrapping.unwrapped(bases.to_fractions(text)))
    return strip_brackets(text.rstrip(" .,;:"))


def strip_brackets(text: str) -> str:
    """Removes pairs of round brackets and braces around the whole of a text.

    Linear: a quarter million brackets around a 5 cost one pass.
    """
    if not text or text[0] not in "({" or text[-1] not in ")}":
        return text
    partner: dict[int, int] = {}
    stack: list[int] = []
    for match in re.finditer(r"\\[\\(){}]|[(){}\[\]]", text):
        mark = match.group()
        if mark in "({[":
            stack.append(match.start())
        elif mark in ")}]" and stack:
            opened = stack.pop()
            if text[opened] + mark in ("()", "{}"):
                partner[opened] = match.start()
    left, right = 0, len(text) - 1
    while left < right and partner.get(left) == right:
        inside = text[left + 1 : right] if right - left < 400 else "1"
        if text[left] == "(" and ("," in inside or not inside.strip()):
            break
        left, right = left + 1, right - 1
        while left < right and text[left] == " ":
            left += 1
        while left < right and text[right] == " ":
            right -= 1
    return text[left : right + 1]


def squash(text: str) -> str:
    """A key under which only differences of layout disappear."""
    text = re.sub(r"\\(?:left|right|displaystyle|limits)(?![a-zA-Z])", "", text)
    text = re.sub(r"\\[dtc]frac", r"\\frac", text)
    text = re.sub(r"\\(?:text|mbox|mathrm|textbf|textrm|mathbf)\s*\{", "{", text)
    text = re.sub(r"\{([0-9A-Za-z])\}", r"\1", text)
    text = re.sub(r"(\w)\s+(?=\w)", "\\1\0", text)  # "4 2" is not "42"
    return re.sub(r"\s+", "", text)


def _unbraced(match: re.Match[str]) -> str:
    return match.group(1) or match.group(2)


def _fraction(whole: str, fixed: str, period: str) -> str:
    if len(whole) + len(fixed) + len(period) > 200:
        return r"\toolong "
    scale = 10 ** len(fixed)
    nines = 10 ** len(period) - 1
    top = int((whole or "0") + fixed) * nines + int(period)
    return f"(\\frac{{{top}}}{{{nines * scale}}})"


def _repeating(match: re.Match[str]) -> str:
    period = match.group(3) or match.group(4)
    return _fraction(match.group(1), match.group(2), period)


def _dotted(match: re.Match[str]) -> str:
    whole, fixed, first, middle, last = match.groups()
    if last is None:
        return _fraction(whole, fixed, first) + (middle or "")
    return _fraction(whole, fixed, first + (middle or "") + last)


def _ellipsis(match: re.Match[str]) -> str:
    """0.1666... repeats its shortest period that is shown twice (a digit thrice)."""
    whole, digits = match.groups()
    if len(digits) > 60:
        return r"\toolong "
    for size in range(1, len(digits) // 2 + 1):
        period = digits[-size:]
        shown = len(digits) - len(digits.rstrip(period[0])) if size == 1 else 0
        if size == 1 and shown < 2:
            continue
        if size > 1 and not digits.endswith(period * 2):
            continue
        start = len(digits) - size
        while start > 0 and digits[start - 1] == digits[start - 1 + size]:
            start -= 1
        return _fraction(whole, digits[:start], digits[start : start + size])
    return match.group()


def _reals(match: re.Match[str]) -> str:
    half = _HALVES.get((match.group(1) or "").replace("-", ""), r" \mathbb{R} ")
    return half + (r"\setminus " if match.group(2) else "")


_HALVES = {
    "positive": r"(0,\infty)",
    "negative": r"(-\infty,0)",
    "nonnegative": r"[0,\infty)",
    "nonpositive": r"(-\infty,0]",
}


def _half_line(match: re.Match[str]) -> str:
    sign = {"ge": ">=", "geq": ">=", "le": "<=", "leq": "<="}.get(match.group(1) or "")
    return {
        ">": r"(0,\infty)",
        ">=": r"[0,\infty)",
        "<": r"(-\infty,0)",
        "<=": r"(-\infty,0]",
    }[sign or match.group(2)]


def _turned(text: str) -> str:
    match = _OPEN_OUTWARDS.fullmatch(text)
    if not match or not re.search("[,;]", text):
        return text
    opened, inside, closed = match.groups()
    inside = inside.strip().removesuffix("\\right")
    return f"{'(' if opened == ']' else '['}{inside}{')' if closed == '[' else ']'}"
