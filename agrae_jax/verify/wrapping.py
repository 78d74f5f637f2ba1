r"""What stands around a value without changing it: (A) before, "for all x" behind."""

from __future__ import annotations

import re

_LABEL = re.compile(  # \textbf{(A)}\ 25
    r"\\(?:text(?!color)\w*|mathrm|mathbf|mbox)\s*\{\s*\(\s*[A-E]\s*\)\s*[:.]?\s*\}[\s:]*"
    r"(?=\S)"
)
_FOR_ALL = re.compile(
    r"[\s,]*\\(?:text|textrm|mbox)\s*\{[\s,]*for (?:all|any|every)(?: real)?"
    r"(?: numbers?)?\s*\$?\s*(?:\}\s*[a-z]|[a-z]\s*\})\s*(?:\\in\s*\\mathbb\s*\{R\})?$"
)
_MEASURED = re.compile(
    r"\\(?:lim|Pr|deg|dim|min|max|sum|int|mathbb\s*\{[PE]\}"
    r"|operatorname\s*\{(?:Var|Cov|rank|dim|deg|tr|ord)\})(?![a-zA-Z])(?!\s*=)"
)
_NESTING = re.compile(r"[(\[{]|[)\]}]|[=<>,;]|\\(?:le|ge|leq|geq|ne|neq|approx|text)\b")


def unlabelled(text: str) -> str:
    """An answer without the letter of an option before its value."""
    return _LABEL.sub("", text, count=1) if _LABEL.match(text) else text


def unwrapped(text: str) -> str:
    r"""An answer without "for all x"; \lim .., \Pr[..] and the like as a name Q.

    Only the left side of the one equation in it is replaced, never a value.
    """
    if "\\" not in text:
        return text
    text = _FOR_ALL.sub("", text)
    if not _MEASURED.match(text):
        return text
    depth, signs = 0, []
    for match in _NESTING.finditer(text):
        mark = match.group()
        depth += (mark in "([{") - (mark in ")]}")
        if depth == 0 and mark not in ")]}":
            signs.append(match)
    if len(signs) != 1 or signs[0].group() != "=":
        return text
    return "Q" + text[signs[0].start() :]
