"""Metrics as (total, count) pairs, added up on any device and divided when written.

A mean of means is wrong as soon as the parts differ in size, so nothing is divided
until `finalize`. `metrics.jsonl` then holds one JSON object a line; names that begin
with `time/` depend on the machine and stand outside every comparison of runs.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agrae_jax.errors import UserError
from agrae_jax.types import Metrics

TIME = "time/"  # prefix of fields that no comparison of runs may look at
Values = dict[str, float | None]


def merge(a: Metrics, b: Metrics) -> Metrics:
    """Adds two metrics name by name; a name in only one of them is kept."""
    out = dict(a)
    for name, (total, count) in b.items():
        if name in out:
            total, count = out[name][0] + total, out[name][1] + count
        out[name] = (total, count)
    return out


def finalize(metrics: Metrics) -> Values:
    """Divides totals by counts: `name -> total / count`, None where count is 0."""
    values: Values = {}
    for name, (total, count) in metrics.items():
        # float64, so that the last bits do not depend on who divides.
        number = float(np.asarray(count, np.float64))
        values[name] = float(np.asarray(total, np.float64)) / number if number else None
    return values


def without_times(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drops what depends on the machine: what two equal runs must agree on."""
    return {k: v for k, v in values.items() if not k.startswith(TIME)}


class JsonlWriter:
    """Appends one JSON object a line, each flushed; `step` is its first field.

    Not-a-number and the infinities are not JSON: they are written as the strings
    "nan", "inf" and "-inf", which `float()` reads back (`read_jsonl` does).
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}") from error

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        """Appends `{"step": step, **values}`. Raises UserError on a full disk."""
        line = {"step": int(step)} | {k: _jsonable(v) for k, v in values.items()}
        try:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def truncate_to(path: str | Path, step: int) -> int:
    """Cuts a JSON-lines file back to lines with `step` <= step; returns how many stay.

    For a resume: what was logged after the checkpoint is computed again. A torn last
    line (a kill in the middle of a write) goes as well; a missing file has 0 lines.
    The file is replaced in one rename, so a kill here leaves the old or the new one.
    """
    path = Path(path)
    if not path.exists():
        return 0
    kept = [line for line, values in _lines(path) if values["step"] <= step]
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text("".join(kept), encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return len(kept)


def read_jsonl(path: str | Path) -> list[dict[str, Any]]:
    """Reads what `JsonlWriter` wrote; a torn last line is left out."""
    return [
        {k: _number(v) for k, v in values.items()} for _, values in _lines(Path(path))
    ]


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            if not isinstance(values["step"], int):
                raise TypeError("the step is no whole number")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            if number == len(lines) and not line.endswith("\n"):
                return
            raise UserError(
                f"{path} line {number} is not an object with a step: mend or remove it"
            ) from error
        if line.endswith("\n"):
            yield line, values


def _jsonable(value: Any) -> Any:
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, int | np.integer):
        return int(value)
    array = np.asarray(value)
    if array.ndim:
        return [_jsonable(v) for v in array.tolist()]
    if np.issubdtype(array.dtype, np.integer):
        return int(array)
    number = float(array)
    return number if math.isfinite(number) else str(number)


def _number(value: Any) -> Any:
    return float(value) if value in ("nan", "inf", "-inf") else value
