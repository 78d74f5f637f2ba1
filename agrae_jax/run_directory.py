"""A run's directory: the files and who writes them. `claiming.py` takes it to train.

    config.json       the resolved config
    versions.json     Python, packages and a hash of this code, of the last launch
    status.json       {"finished": bool, "step": int}
    data.json         fingerprints of the data sets
    metrics.jsonl     one object a step
    rollouts/         step_000001.jsonl: one object a completion
    checkpoints/      orbax, by step
    eval/             <name>.json
    faults/           batches whose loss or gradient was no number
    summary.txt       the closing tables
    .lock             held while a process trains here

docs/run_directory.md describes every field.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from agrae_jax.errors import UserError
from agrae_jax.metrics import read_jsonl, truncate_to

_BY_STEP = ("verify/ungradable.jsonl", "verify/audit.jsonl")  # logs beside metrics


class RunDirectory:
    """One run's files. Made by `claim` (to train) or `open_run` (to read)."""

    def __init__(self, path: Path, lock: TextIO | None = None):
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.rollouts = path / "rollouts"
        self.eval = path / "eval"
        self.metrics = path / "metrics.jsonl"
        self.notes: list[str] = []  # lines worth saying: what this launch changed
        self._lock = lock

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def config(self) -> dict[str, Any]:
        """Returns the resolved config that the run was started with."""
        return read_json(self.path / "config.json")

    def finished(self) -> bool:
        """True if the run did all of its steps."""
        return bool(self.status().get("finished", False))

    def status(self) -> dict[str, Any]:
        """Returns status.json, or {} where nothing was saved yet."""
        path = self.path / "status.json"
        found = read_json(path) if path.exists() else {}
        types = {"finished": bool, "step": int}
        if found and any(type(found.get(k)) is not kind for k, kind in types.items()):
            raise UserError(
                f'{path} is damaged: it must be {{"finished": true or false, "step":'
                " number}; mend it, or remove it if the run had not finished"
            )
        return found

    def mark(self, *, step: int, finished: bool) -> None:
        """Writes status.json: `step` steps are done and saved."""
        write_json(self.path / "status.json", {"finished": finished, "step": step})

    def note_saved(self, step: int) -> None:
        """Writes status.json where a newer checkpoint is on disk than it says."""
        if step > self.status().get("step", 0):
            self.mark(step=step, finished=False)

    def cut_back(self, step: int) -> list[int]:
        """Drops what was logged after the checkpoint of `step`, before a resume.

        Returns the steps up to it that have no line in metrics.jsonl.
        """
        for path in (self.metrics, *(self.path / name for name in _BY_STEP)):
            truncate_to(path, step)
        lines = {line["step"] for line in self.read_metrics()}
        for name in ("ungradable", "audit"):
            truncate_to(self.path / "verify" / f"{name}.jsonl", step)
        for path in self.rollouts.iterdir():
            ours = re.fullmatch(r"step_(\d{6,})\.jsonl(\.tmp)?", path.name)
            if ours and path.is_file() and (ours[2] or int(ours[1]) > step):
                path.unlink()
        return [number for number in range(1, step + 1) if number not in lines]

    def lacking_rollouts(self, step: int) -> list[int]:
        """Steps up to `step` whose completions the config keeps and that are gone."""
        every = self.config().get("log", {}).get("rollouts_every", 0)
        kept = range(every, step + 1, every) if every else ()
        return [number for number in kept if not self.rollout_path(number).exists()]

    def data(self) -> dict[str, Any]:
        """Returns the fingerprints of the data that the run was started with, or {}."""
        path = self.path / "data.json"
        found = read_json(path) if path.exists() else {}
        if not all(isinstance(entry, dict) for entry in found.values()):
            raise UserError(
                f"{path} is damaged: remove it, and what the data are now is believed"
            )
        return found

    def write_data(self, fingerprints: Mapping[str, Any]) -> None:
        """Writes data.json."""
        write_json(self.path / "data.json", fingerprints)

    def write_fault(self, step: int, arrays: Mapping[str, Any]) -> Path:
        """Writes faults/step_000012.npz, the batch of a broken step."""
        path = self.path / "faults" / f"step_{step:06d}.npz"
        try:
            path.parent.mkdir(exist_ok=True)
            with path.with_suffix(".tmp").open("wb") as file:
                np.savez_compressed(file, **arrays)
            os.replace(path.with_suffix(".tmp"), path)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error
        return path

    def rollout_path(self, step: int) -> Path:
        """The file of one step's completions."""
        return self.rollouts / f"step_{step:06d}.jsonl"

    def write_rollouts(self, step: int, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes one object a completion; the file appears whole or not at all.

        A number that is none (of a run that diverged) is null: JSON has no other.
        """
        lines = (_line(row) for row in rows)
        _write_whole(self.rollout_path(step), lines)

    def write_evaluation(self, name: str, result: Mapping[str, Any]) -> Path:
        """Writes eval/<name>.json and returns its path."""
        path = self.eval / f"{name}.json"
        write_json(path, result)
        return path

    def write_summary(self, text: str) -> None:
        """Writes summary.txt: the closing tables, as they were printed."""
        write_text(self.path / "summary.txt", text)

    def write_samples(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes eval/<name>.samples.jsonl, one object a completion."""
        lines = (_line(row) for row in rows)
        _write_whole(self.eval / f"{name}.samples.jsonl", lines)

    def read_metrics(self) -> list[dict[str, Any]]:
        """Returns the lines of metrics.jsonl, [] if there is none."""
        return read_jsonl(self.metrics) if self.metrics.exists() else []

    def release(self) -> None:
        """Lets another process train here. The end of the process does so too."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def open_run(workdir: str | Path) -> RunDirectory:
    """Opens a run to read it, also while it trains. Raises UserError if it is none."""
    path = Path(workdir)
    if not (path / "config.json").is_file():
        raise UserError(
            f"{path} is not a run directory: it has no config.json; give the --workdir "
            "of a training run"
        )
    return RunDirectory(path)


def write_text(path: Path, text: str) -> None:
    """Writes a text file; it appears whole or not at all."""
    _write_whole(path, [text])


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Writes indented JSON; the file appears whole or not at all."""
    _write_whole(path, [json.dumps(value, indent=2, ensure_ascii=False) + "\n"])


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object of a JSON file; raises UserError where it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{path} is damaged: it does not hold a JSON object")
    return found


def _line(row: Mapping[str, Any]) -> str:
    """A row as a line of JSON, with null for what is no finite number."""
    finite = {name: _finite(value) for name, value in row.items()}
    return json.dumps(finite, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_whole(path: Path, lines: Iterable[str]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(lines)
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
