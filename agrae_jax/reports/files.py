"""Files of a run as values: what is damaged is one line, what is no number is None."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agrae_jax.errors import UserError

Line = Mapping[str, Any]
LARGEST = 1e100  # of a number that is shown: sums of larger ones may overflow


def number(value: Any) -> float | None:
    """A finite number as a float; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= LARGEST else None
    return None


def read_object(path: Path, default: Any = None) -> dict[str, Any]:
    """A JSON object; `default` where there is no file. Raises UserError."""
    if default is not None and not path.is_file():
        return default
    try:
        value = _loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} should hold a JSON object")
    return value


def read_lines(path: Path) -> Iterator[Line]:
    """The object of every line; a last line that is being written is left out."""
    lines = read_text(path).split("\n")
    for place, text in enumerate(lines, 1):
        if not text:
            continue
        try:
            value = _loads(text)
        except (ValueError, RecursionError) as error:
            if place >= len(lines) - 1:
                return  # a run that goes on may be writing its last line now
            raise UserError(f"{path}:{place} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise UserError(f"{path}:{place} is not a JSON object: remove that line")
        yield value


def read_text(path: Path) -> str:
    """A file's text, bytes that are none replaced; "" where there is no file."""
    try:
        return path.read_text("utf-8", errors="replace") if path.is_file() else ""
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


def count_lines(path: Path) -> int:
    """How many lines a file has, empty ones left out."""
    return sum(bool(line) for line in read_text(path).split("\n"))


def _loads(text: str) -> Any:
    """JSON in which NaN, the infinities and endless digits are null."""
    return json.loads(text, parse_constant=_none, parse_float=_finite, parse_int=_whole)


def _none(_: str) -> None:
    return None


def _finite(text: str) -> float | None:
    return number(float(text))


def _whole(text: str) -> int | None:
    return int(text) if len(text) < 20 else None
