r"""Finds the answer of a completion.

The grammar, first match wins:

1. thinking blocks (`<think>..</think>`) are skipped, an unclosed one to the end;
2. the last `\boxed{..}` or `\fbox{..}` with balanced braces. Boxes that stand side by
   side, joined by nothing but commas, "and" or "or", are one list. A box that never
   closes ends the text: nothing inside or after it counts. An empty box is no answer;
3. the last answer phrase: "the answer is ..", "Final Answer: ..", "#### ..";
4. only where `strict=False`: the last number of the text.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator

from agrae_jax.verify.types import Extracted

_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.I)
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.I)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![a-zA-Z])\s*")
_BRACE = re.compile(r"\\[\\{}]|[{}]")
_BARE = re.compile(r"-?\d[\d.,/]*|[A-Za-z](?![A-Za-z])")
_JOIN = re.compile(
    r"(?:\s|[$,;&*]|\\[\[\]()]|\\[,;:! ]|\\q?quad|\band\b|\bor\b"
    r"|\\text\{[\s,]*(?:and|or)?[\s,]*\})*"
)
_WORD_JOIN = re.compile(r"[,;&]|and|or")
_PHRASE = re.compile(
    r"\bthe\s+(?:final\s+|correct\s+)?answer\s*(?:is|=|:)(?:\s+that\b)?"
    r"|\bfinal\s+answer\b(?:[\s*_]*(?:is|=|:))?"
    r"|^[ \t*_#>-]{0,20}answer[ \t*_]{0,20}:"
    r"|####",
    re.I | re.M,
)
_HINT = re.compile(r"nswer|NSWER|####")  # cheap on a million characters
_AFTER_PHRASE = re.compile(r"[\s*_:=]*")
_SENTENCE_END = re.compile(r"[.。!?](?=\s|$|\*)|\n|<\|")
_CLOSED = re.compile(r"(?:\$|\\[)\]])\Z")  # $12$! is joy, 12! a factorial
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|-?\.\d+")
_REFUSAL = re.compile(r"not\b|unknown\b|unclear\b|n't\b", re.I)
_MAX_JOINED = 64
_MAX_PHRASE = 400


def extract(text: str, *, strict: bool = True) -> Extracted | None:
    """Returns the answer of a completion, or None where it offers none."""
    start, end = _outside_thinking(text)
    boxes, seen = _boxes(text, start, end)
    if boxes:
        return _join(text, boxes)
    if seen:  # a box was begun: its author meant to box the answer
        return None
    return _phrase(text, start, end) or (
        None if strict else _last_number(text, start, end)
    )


def _outside_thinking(text: str) -> tuple[int, int]:
    if "<" not in text:
        return 0, len(text)
    start = 0
    for match in _CLOSE.finditer(text):
        start = match.end()
    reopened = _OPEN.search(text, start)
    return start, reopened.start() if reopened else len(text)


def _boxes(text: str, start: int, end: int) -> tuple[list[tuple[int, int, str]], bool]:
    """Outermost boxes as (start, end, content), in one pass over the braces."""
    first = _BOX.search(text, start, end)
    if not first:
        return [], False
    close_of: dict[int, int] = {}
    stack: list[int] = []
    for match in _BRACE.finditer(text, first.start(), end):
        brace = match.group()
        if brace == "{":
            stack.append(match.start())
        elif brace == "}" and stack:
            close_of[stack.pop()] = match.start()
    boxes, inside = [], -1
    for match in _BOX.finditer(text, first.start(), end):
        at = match.end()
        if match.start() < inside:
            continue  # nested in the box before
        if at < end and text[at] == "{":
            if at not in close_of:
                break  # never closed: the completion was cut off in here
            inside = close_of[at] + 1
            content = text[slice(*_innermost(text, at, close_of))]
            boxes.append((match.start(), inside, content))
        else:
            bare = _BARE.match(text, at, end)
            if bare:
                content = bare.group().rstrip(".,/")
                boxes.append((match.start(), at + len(content), content))
    return boxes, True


def _innermost(text: str, at: int, close_of: dict[int, int]) -> tuple[int, int]:
    """Where the content lies of the innermost of boxes that hold nothing but a box."""
    while True:
        start, end = at + 1, close_of[at]
        nested = _BOX.match(text, start, end)
        if not nested or close_of.get(nested.end()) != end - 1:
            return start, end
        at = nested.end()


def _join(text: str, boxes: list[tuple[int, int, str]]) -> Extracted | None:
    start, end, content = boxes[-1]
    contents = [content]
    for previous in boxes[-2 : -2 - _MAX_JOINED : -1]:
        between = text[previous[1] : start]
        if len(between) > 60 or not _JOIN.fullmatch(between):
            break
        if "\n" in between and not _WORD_JOIN.search(between):
            break
        if re.search(r"\n\s*\n", between):
            break
        start = previous[0]
        contents.append(previous[2])
    contents = list(dict.fromkeys(c.strip() for c in reversed(contents)))
    answer = ", ".join(contents)
    if not answer.strip(" ,"):
        return None
    return Extracted(answer, (start, end), "box")


def last_match(matches: Iterator[re.Match[str]]) -> re.Match[str] | None:
    """The last of an iterator, without keeping the others; None of an empty one."""
    return next(iter(collections.deque(matches, maxlen=1)), None)


def _phrase(text: str, start: int, end: int) -> Extracted | None:
    if not _HINT.search(text, start, end):
        return None
    last = last_match(_PHRASE.finditer(text, start, end))
    if last is None:
        return None
    skipped = _AFTER_PHRASE.match(text, last.end(), end)
    at = skipped.end() if skipped else last.end()
    if _REFUSAL.match(text, at, end):
        return None
    stop = min(end, at + _MAX_PHRASE)
    cut = _SENTENCE_END.search(text, at, stop)
    if cut:
        factorial = cut.group() == "!" and not _CLOSED.search(text, at, cut.start())
        stop = cut.end() if factorial else cut.start()
    answer = text[at:stop].strip().strip("*_").strip()
    if not answer:
        return None
    return Extracted(answer, (at, at + len(text[at:stop].rstrip())), "phrase")


def _last_number(text: str, start: int, end: int) -> Extracted | None:
    last = last_match(_NUMBER.finditer(text, start, end))
    if last is None:
        return None
    return Extracted(last.group(), last.span(), "number")
