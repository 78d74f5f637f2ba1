"""Checksums of a directory's files, so that damage is found and named at restore."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from agrae_jax.errors import UserError

FILE = "checksums.json"
_CHUNK = 1 << 24  # bytes read at a time
_SKIP = {"commit_success.txt"}  # written later, by the commit itself


class BrokenCheckpoint(UserError):
    """A checkpoint whose files are missing, cut short or changed."""


def write(root: Path, *, sums: bool) -> None:
    """Writes `checksums.json` over all files in the subdirectories of `root`.

    It maps each relative path to [size in bytes, CRC-32 or null]; `sums=False` keeps
    sizes only.
    """
    entries = {
        path.relative_to(root).as_posix(): [
            path.stat().st_size,
            _crc32(path) if sums else None,
        ]
        for path in sorted(root.glob("*/**/*"))
        if path.is_file() and path.name not in _SKIP
    }
    (root / FILE).write_text(json.dumps(entries, indent=0))


def verify(root: Path, items: Collection[str] | None = None) -> None:
    """Checks the files of some subdirectories (None = all) of `root`.

    Raises BrokenCheckpoint, naming the file; and UserError where a file may not be
    read, which is no damage and must not be passed over.
    """
    for name, (size, crc) in _entries(root / FILE).items():
        if items is not None and name.split("/")[0] not in items:
            continue
        path = root / name
        if not path.is_file():
            raise BrokenCheckpoint(f"checkpoint file {path} is missing")
        held = path.stat().st_size
        if held != size:
            raise BrokenCheckpoint(
                f"checkpoint file {path} has {held} bytes and was written with {size}"
            )
        if crc is not None and _crc32(path) != crc:
            raise BrokenCheckpoint(
                f"checkpoint file {path} was changed since it was written"
            )


def _entries(path: Path) -> dict[str, tuple[int, int | None]]:
    try:
        with _readable(path):
            found = json.loads(path.read_bytes())
        if not found:  # a list of nothing would find every damage well
            raise ValueError("no file is listed")
        return {name: (size, crc) for name, (size, crc) in found.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise BrokenCheckpoint(f"checkpoint file {path} is damaged") from error


def _crc32(path: Path) -> int:
    crc = 0
    with _readable(path), path.open("rb") as file:
        while block := file.read(_CHUNK):
            crc = zlib.crc32(block, crc)
    return crc


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise UserError(
            f"cannot read checkpoint file {path}: {error.strerror}; mend the rights"
        ) from error
    except OSError as error:
        raise BrokenCheckpoint(
            f"checkpoint file {path} is missing or unreadable: {error.strerror}"
        ) from error
