"""What an evaluation has done so far, on disk, so that a killed one goes on."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agrae_jax.errors import UserError

Row = dict[str, Any]  # one completion, graded
Done = list[tuple[dict[str, Any], list[int | None]]]  # (record, classes) a problem


class Progress:
    """A file of one JSON object a line: {"wave", "unit", "rows"} or {"wave", "done"}.

    A line is on disk before the next one is sampled; a torn last line is cut off. Only
    the rows of an unfinished wave are held in memory. Raises UserError if another
    process holds the file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._rows: dict[tuple[int, int], list[Row]] = {}
        self._done: dict[int, Done] = {}
        try:
            self._file = path.open("a+", encoding="utf-8")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise UserError(
                f"{path} is in use: another process evaluates this"
            ) from None
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error
        try:
            self._read()
        except (ValueError, LookupError, TypeError):
            self._file.close()
            raise UserError(f"{path} is damaged: remove it") from None
        self.resumed = bool(self._rows or self._done)

    def rows(self, wave: int, unit: int) -> list[Row] | None:
        """What one unit of an unfinished wave gave, None if it is still to be done."""
        return self._rows.get((wave, unit))

    def records(self, wave: int) -> Done | None:
        """A finished wave, None if it is not."""
        return self._done.get(wave)

    def add(self, wave: int, unit: int, rows: list[Row]) -> None:
        """Keeps the rows of a unit."""
        self._write({"wave": wave, "unit": unit, "rows": rows})

    def finish(self, wave: int, done: Done) -> None:
        """Keeps the records of a wave and forgets its rows."""
        self._write({"wave": wave, "done": done})
        self._forget(wave)

    def samples(self) -> Iterator[Row]:
        """All completions, in order of problem and sample, with their answer class."""
        rows: list[Row] = []
        self._file.seek(0)
        for line in self._file:
            entry = json.loads(line)
            if "rows" in entry:
                rows += entry["rows"]
                continue
            for record, classes in entry["done"]:
                mine = [row for row in rows if row["id"] == record["id"]]
                for row, vote in zip(mine, [*classes, None], strict=False):
                    yield row | {"class": vote}
            rows = []

    def remove(self) -> None:
        """Deletes the file: the result is written."""
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Lets go of the file; it stays."""
        with contextlib.suppress(OSError):  # a full disk: `_write` has told of it
            self._file.close()

    def _read(self) -> None:
        self._file.seek(0)
        whole = 0
        while line := self._file.readline():
            if not line.endswith("\n"):
                break
            entry = json.loads(line)
            if "rows" in entry:
                self._rows[entry["wave"], entry["unit"]] = entry["rows"]
            else:
                self._done[entry["wave"]] = [(r, votes) for r, votes in entry["done"]]
                self._forget(entry["wave"])
            whole = self._file.tell()
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)

    def _forget(self, wave: int) -> None:
        for key in [key for key in self._rows if key[0] == wave]:
            del self._rows[key]

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UserError(f"cannot write {self._path}: {error.strerror}") from error
