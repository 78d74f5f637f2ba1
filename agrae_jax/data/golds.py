"""The golds of a data set as they stand, beside their solutions: for the gold audit.

`python -m agrae_jax.verify --audit=NAME` reads them through here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agrae_jax.data import benchmarks, datasets, rows
from agrae_jax.errors import UserError


def raw(name: str, field: str = "") -> list[dict[str, Any]]:
    """{"id", "answer", "solution"} of every row; nothing is repaired or left out.

    `name` is jsonl:PATH, parquet:PATH, such a path alone, or a benchmark, all of whose
    files are read. `field` names the gold where it is not a usual one. Raises UserError
    for what cannot be read.
    """
    found = []
    for number, (where, row) in enumerate(_each(name)):
        answer, _ = rows._first(row, rows._named(field, rows._ANSWER))
        solution, _ = rows._first(row, rows._SOLUTION)
        key, _ = rows._first(row, rows._KEY)
        if answer is None:
            raise UserError(f"{where} lacks the field {field or 'answer'!r}")
        found.append(
            {
                "id": number if key is None else key,
                "answer": rows._plain(answer, where),
                "solution": None if solution is None else rows._plain(solution, where),
            }
        )
    if not found:
        raise UserError(f"{name} has no rows")
    return found


def _each(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if name in benchmarks.BENCHMARKS:
        for split in benchmarks.BENCHMARKS[name].files:
            yield from rows.from_jsonl(str(benchmarks.find(name, split)[0]))
        return
    kind, colon, place = name.partition(":")
    if not colon:
        kind, place = Path(name).suffix.removeprefix("."), name
    if kind == "parquet":
        yield from datasets._parquet_rows(place)
    else:
        yield from rows.from_jsonl(place)
