r"""Answers that are words: options, names, yes and no, dates, times of day."""

from __future__ import annotations

import re

_TEXT = re.compile(
    r"\\(?:text|mbox|textbf|textit|textrm|textnormal|mathrm|mathbf|mathit|mathsf|bf|rm"
    r"|operatorname|texttt|textsf|emph|boldsymbol|bm|underline|hbox|mathcal)\*?"
    r"(?![a-zA-Z])"
)
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_OPTION = re.compile(
    r"(?:(?:the )?(?:correct )?(?:option|choice|answer|part|letter)(?: is)?\s*:?\s*)?"
    r"[(\[]?\s*([A-Ja-j])\s*"
    r"(?:[)\].:]\s*(.*)|)",
    re.I | re.S,
)
_GOLD_OPTION = re.compile(r"\(\s*([A-J])\s*\)|([A-J])|\(([A-J])\)\s*(.+)")
_TIME = re.compile(
    r"(\d{1,2})(?::([0-5]\d))?(?::([0-5]\d))?\s*(a\.?\s?m\.?|p\.?\s?m\.?|noon|midnight)?",
    re.I,
)
_MONTHS = {
    name[:3]: i + 1
    for i, name in enumerate(
        "january february march april may june july august september october november "
        "december".split()
    )
}
_DATE = re.compile(
    r"(?:(?:on|the)\s+)*(?:([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?|"
    r"(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?([a-z]{3,9})\.?)(?:,?\s+(\d{4}))?",
)
_COUNTS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
)
_ARTICLES = re.compile(r"^(?:the|a|an|it is|it's|on)\s+")
_EMPTY = frozenset(
    ("", "?", "answer", "your answer", "the answer", "final answer", "your answer here",
     "insert answer", "...", "none", "n/a", "blank", "unknown", "value", "result")
)  # fmt: skip


_NOTHING = re.compile(
    r"(?:there (?:is|are|exists?) )?no ((?:real |integer |positive )*solution)s?"
    r"(?: exists?)?"
)


def flat(text: str) -> str:
    r"""The words of an answer without \text and braces."""
    text = _TEXT.sub("", text)
    text = text.replace("\\ ", " ").replace("{", "").replace("}", "")
    return " ".join(text.split()).strip(" .,;:!")


def is_placeholder(text: str) -> bool:
    """Whether an answer is empty or a template ("your answer")."""
    return flat(text).strip("[]<>()_").lower() in _EMPTY


def option(text: str) -> str | None:
    """The letter of a gold that is one option: "C", "(C)", "\\text{(C)}"."""
    match = _GOLD_OPTION.fullmatch(flat(text))
    return next((g for g in match.groups() if g), None) if match else None


def chosen(text: str) -> str | None:
    """The option that a completion chose: "C", "(C) 12", "Option C"; one only."""
    words = flat(text)
    match = _OPTION.fullmatch(words)
    if not match:
        return None
    rest = match.group(2) or ""
    if re.search(r"[([]\s*[A-J]\s*[)\]]|\b[A-J]\b|\bor\b|\band\b|\bnot\b", rest):
        return None
    return match.group(1).upper()


def is_words(text: str) -> bool:
    r"""Whether an answer is words rather than mathematics."""
    words = flat(text)
    if re.search(r"[\\^=<>+*/|$]", words):
        return False
    in_text = re.fullmatch(r"\s*\\(?:text\w*|mbox|mathrm)\s*\{[^{}]*\}\s*", text)
    if in_text and _LETTERS.search(words):
        return True
    if not _LETTERS.search(words) or re.search(r"[()\[\]]", words):
        return False
    if not re.search(r"\d", words):
        runs = re.findall(r"[A-Za-z]+", words)
        return all(len(r) > 3 or r.lower() in _SHORT for r in runs if len(r) > 1)
    return _date(words.lower()) is not None


_SHORT = frozenset(
    "yes no odd even red blue and or of the to in on is all any day sun mon tue wed "
    "thu fri sat cat dog max min".split()
)


_SYNONYMS = {"dne": "does not exist"}


def same_words(gold: str, answer: str) -> bool:
    """Equality of words: case, articles, a plural point and the order of lists."""
    golds, answers = _items(gold), _items(answer)
    if not any(answers):
        return False
    if [_SYNONYMS.get(w, w) for w in golds] == [_SYNONYMS.get(w, w) for w in answers]:
        return True
    if re.fullmatch(r"[A-Z]{2,}", flat(gold)):  # CBAD is also written C, B, A, D
        answers = [re.sub(r"[\s,]", "", flat(answer)).lower()]
    if len(golds) > 1 or len(answers) > 1:
        return sorted(golds) == sorted(answers)
    first, second = golds[0], answers[0]
    if first.replace(" ", "") == second.replace(" ", ""):
        return True
    missing = nothing(gold), nothing(answer)
    if None not in missing and ("" in missing or missing[0] == missing[1]):
        return True
    date = _date(first)
    return date is not None and date == _date(second)


def _items(text: str) -> list[str]:
    words = flat(text).lower().replace("-", " ")
    if _date(words) is not None:
        return [words]
    parts = re.split(r"\s*(?:,|;|\band\b|\bor\b)\s*", words)
    parts = [_ARTICLES.sub("", p.strip(" .'\"")) for p in parts if p.strip(" .'\"")]
    return parts or [""]


def _date(text: str) -> tuple[int, int, str] | None:
    match = _DATE.fullmatch(text)
    if not match:
        return None
    month = _MONTHS.get((match.group(1) or match.group(4))[:3])
    if month is None:
        return None
    return month, int(match.group(2) or match.group(3)), match.group(5) or ""


def nothing(text: str) -> str | None:
    r"""What there is none of: "solution" of "there are no solutions", "" of \emptyset.

    None for other words.
    """
    words = flat(text).lower().removeprefix("the ").strip()
    if words in ("\\emptyset", "\\varnothing", "empty set", "null set"):
        return ""
    match = _NOTHING.fullmatch(words)
    return match.group(1) if match else None


def count(text: str) -> int | None:
    """The number that a number word names ("seven"), up to twenty."""
    words = flat(text).lower()
    return _COUNTS.index(words) if words in _COUNTS else None


def time_of_day(text: str) -> tuple[int, int, int, str] | None:
    """Hour, minute, second and "", "am" or "pm" of a time such as 4:30 p.m."""
    match = _TIME.fullmatch(flat(text).strip(" ."))
    if not match or (match.group(2) is None and match.group(4) is None):
        return None
    half = re.sub(r"[.\s]", "", (match.group(4) or "").lower())
    hour, minute, second = (int(match.group(k) or 0) for k in (1, 2, 3))
    return hour, minute, second, half


def is_time(text: str) -> bool:
    """Whether a gold can only be a time: am or pm, or minutes written :00 to :09."""
    time = time_of_day(text)
    return time is not None and (bool(time[3]) or bool(re.search(r":0\d", text)))


def same_time(gold: str, answer: str) -> bool:
    """Equality of times; a half of the day that only one names is not compared."""
    first, second = time_of_day(gold), time_of_day(answer)
    if first is None or second is None:
        return False
    if first[:3] == second[:3]:
        return not (first[3] and second[3]) or first[3] == second[3]
    return _seconds(first) == _seconds(second) is not None


def _seconds(time: tuple[int, int, int, str]) -> int | None:
    hour, minute, second, half = time
    if half in ("am", "pm"):
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif hour < 13:
        return None
    return 3600 * hour + 60 * minute + second
