"""Data sets by name, and the doors of their formats.

A name is a built-in generator (`arithmetic`) or `SOURCE:PLACE`: `jsonl:PATH`,
`parquet:PATH`. Every source gives a list of `Problem`; a row that cannot be one is a
`UserError` with file and row number.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agrae_jax.data import arithmetic as _arithmetic
from agrae_jax.data.problem import Problem as Problem
from agrae_jax.errors import UserError

_log = logging.getLogger(__name__)

# Names under which sources keep the same thing, in order of preference.
_QUESTION = ("question", "problem")
_ANSWER = ("answer", "gold")
_SUBJECT = ("subject", "type")
_KEY = ("id", "unique_id")


def load(name: str, *, split: str, **kwargs: Any) -> list[Problem]:
    """The problems of a data set, in the order of the source.

    Rows with an empty gold are left out, and they, duplicate ids and repeated
    questions are reported as warnings of the log. Raises `UserError` for an unknown
    name or keyword, a missing file and a bad row.
    """
    source, place = _resolve(name)
    try:
        inspect.signature(source).bind(place or split, **kwargs)
    except TypeError as error:
        raise UserError(f"data set {name}: {error}") from None
    problems = source(place or split, **kwargs)
    for note in notes(name, problems):
        _log.warning(note)
    kept = [problem for problem in problems if problem.answer]
    if not kept:
        raise UserError(f"data set {name} has no problem with an answer")
    return kept


def signature_defaults(name: str) -> dict[str, Any]:
    """The keywords that `load` takes for this data set, with their defaults."""
    source, _ = _resolve(name)
    parameters = inspect.signature(source).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def missing_file(name: str) -> Path | None:
    """The file that a data set name points to and that is not there, if so."""
    _, place = _resolve(name)
    return Path(place) if place and not Path(place).exists() else None


def notes(name: str, problems: list[Problem]) -> list[str]:
    """What a careful reader would want to know about the rows, one line each."""
    found = []
    empty = [problem.id for problem in problems if not problem.answer]
    if empty:
        found.append(
            f"{name}: {len(empty)} rows without a gold left out: {_some(empty)}"
        )
    for what, values in (
        ("duplicate ids", [problem.key for problem in problems if problem.key]),
        ("repeated questions", [problem.question for problem in problems]),
    ):
        repeated = _repeated(values)
        if repeated:
            found.append(f"{name}: {len(repeated)} {what}: {_some(repeated)}")
    return found


def overlap(train: Iterable[Problem], test: Iterable[Problem]) -> list[Problem]:
    """The test problems whose question is also a training question.

    Questions are compared without regard to case and white space.
    """
    seen = {" ".join(problem.question.lower().split()) for problem in train}
    return [p for p in test if " ".join(p.question.lower().split()) in seen]


def jsonl(path: str) -> list[Problem]:
    """One JSON object a line: question or problem, answer or gold; level, subject."""
    return [_from_row(row, i, where) for i, row, where in _json_rows(path)]


def _json_rows(path: str) -> Iterator[tuple[int, Mapping[str, Any], str]]:
    index = 0
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path} row {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(f"{where}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise UserError(f"{where}: not a JSON object but {type(row).__name__}")
        yield index, row, where
        index += 1


def _from_row(row: Mapping[str, Any], index: int, where: str) -> Problem:
    return Problem(
        id=index,
        question=_text(row, _QUESTION, where),
        answer=_text(row, _ANSWER, where, may_be_empty=True),
        level=_optional(row, ("level",)) or "",
        subject=_optional(row, _SUBJECT),
        key=_optional(row, _KEY) or "",
    )


def _text(
    row: Mapping[str, Any],
    names: tuple[str, ...],
    where: str,
    *,
    may_be_empty: bool = False,
) -> str:
    present = [name for name in names if row.get(name) is not None]
    if not present:
        have = ", ".join(map(str, row)) or "nothing"
        raise UserError(f"{where}: no field {' or '.join(names)}; it has {have}")
    value = row[present[0]]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise UserError(f"{where}: field {present[0]} is a {kind}, not a string")
    text = str(value).strip()
    if not text and not may_be_empty:
        raise UserError(f"{where}: field {present[0]} is empty")
    return text


def _optional(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((str(row[name]) for name in names if row.get(name) is not None), None)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: byte {error.start}") from None


_BUILT_IN: dict[str, Callable[..., list[Problem]]] = {
    "arithmetic": _arithmetic.arithmetic,
}
_SOURCES: dict[str, Callable[..., list[Problem]]] = {"jsonl": jsonl}


def _resolve(name: str) -> tuple[Callable[..., list[Problem]], str]:
    """A name's reader, and the place it reads ("" for a built-in generator)."""
    source, colon, place = name.partition(":")
    if not colon and name in _BUILT_IN:
        return _BUILT_IN[name], ""
    if source in _SOURCES and place:
        return _SOURCES[source], place
    known = [*_BUILT_IN, *(f"{source}:PATH" for source in _SOURCES)]
    raise UserError(f"unknown data set {name!r}; known: {', '.join(known)}")


def _repeated(values: list[str]) -> list[str]:
    seen: set[str] = set()
    return list(dict.fromkeys(v for v in values if v in seen or seen.add(v)))


def _some(values: list[Any]) -> str:
    shown = ", ".join(str(value)[:60] for value in values[:5])
    return shown + (", .." if len(values) > 5 else "")
