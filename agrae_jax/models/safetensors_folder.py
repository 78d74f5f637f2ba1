"""The safetensors door: a Hugging Face folder's tensors, read in slices and written.

Reading keeps no file open between two tensors: what a mapped file has shown stays in
the process's memory until it is closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from agrae_jax.errors import UserError

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_DTYPES = ("F32", "BF16", "F16", "F64")


class Folder:
    """The tensors of a folder, in one file or in several with an index.

    A `weights.Source`. Raises `UserError` naming a file that is missing or damaged.
    """

    def __init__(self, path: Path):
        index = path / INDEX
        if index.exists():
            listed = _weight_map(index)
            files = [path / name for name in sorted(set(listed.values()))]
        else:
            files = [path / SINGLE]
        self._file: dict[str, Path] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for file in files:
            with _open(file) as tensors:
                for name in tensors.keys():
                    part = tensors.get_slice(name)
                    if part.get_dtype() not in _DTYPES:
                        raise UserError(
                            f"model.path: {file}: tensor {name} is of dtype"
                            f" {part.get_dtype()}, not of {', '.join(_DTYPES)}"
                        )
                    self._file[name] = file
                    self._shapes[name] = tuple(part.get_shape())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, by name."""
        return dict(self._shapes)

    def read(self, name: str, index: tuple[slice, ...]) -> np.ndarray:
        """A part of a tensor, in the file's dtype."""
        with _open(self._file[name]) as tensors:
            return tensors.get_slice(name)[index]


def write(
    folder: Path,
    tensors: Iterable[tuple[str, np.ndarray]],
    sizes: Mapping[str, int],
    *,
    file_bytes: int,
) -> list[str]:
    """Writes tensors, of `sizes` bytes by name, in files of about `file_bytes` at most.

    One file's tensors are in memory at a time. Returns the names of the files; where
    there are several, an index says which tensor lies where.
    """
    parts = _parts(sizes, file_bytes)
    if len(parts) == 1:
        names = [SINGLE]
    else:
        count = len(parts)
        names = [f"model-{i + 1:05d}-of-{count:05d}.safetensors" for i in range(count)]
    waiting = iter(tensors)
    for file, part in zip(names, parts, strict=True):
        held = dict(next(waiting) for _ in part)
        assert list(held) == part, "tensors come in the order of their sizes"
        # transformers refuses a file that does not say for which framework it is
        save_file(held, folder / file, metadata={"format": "pt"})
        (folder / file).chmod(0o644)  # it makes files that their owner alone may read
    if len(parts) > 1:
        index = {
            "metadata": {"total_size": sum(sizes.values())},
            "weight_map": {
                name: file
                for file, part in zip(names, parts, strict=True)
                for name in part
            },
        }
        (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", "utf-8")
    return names


def _parts(sizes: Mapping[str, int], file_bytes: int) -> list[list[str]]:
    parts, room = [[]], file_bytes
    for name, size in sizes.items():
        if size > room and parts[-1]:
            parts.append([])
            room = file_bytes
        parts[-1].append(name)
        room -= size
    return parts


def _weight_map(index: Path) -> dict[str, str]:
    try:
        listed = json.loads(index.read_text("utf-8"))["weight_map"]
        # a file of the folder itself: no path leads out of it
        good = all(Path(file).name == file for file in listed.values())
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ):
        good, listed = False, {}
    if not good or not listed:
        raise UserError(
            f"model.path: {index} is not an index of tensors: its weight_map should"
            " name a file for every tensor"
        )
    return listed


def _open(file: Path) -> Any:
    if not file.is_file():
        state = "is not a file" if file.exists() else "does not exist"
        raise UserError(f"model.path: {file} {state}")
    try:
        return safe_open(file, framework="np")
    except (SafetensorError, OSError) as error:
        raise UserError(f"model.path: {file} is damaged: {error}") from None
