"""A run's directory: claimed by one process, resumed or refused, never mixed.

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

import fcntl
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from agrae_jax.errors import UserError
from agrae_jax.metrics import read_jsonl, truncate_to
from agrae_jax.versions import versions

# Fields that a resume may change: they decide where and how fast, not what.
# `steps` may grow as well, unless the learning rate is planned over all of them.
MAY_DIFFER = (
    "mesh.",
    "checkpoint.",
    "log.",
    "verify.workers",
    "verify.deadline_s",
    "verify.audit",
)
_BY_STEP = ("verify/ungradable.jsonl", "verify/audit.jsonl")  # logs beside metrics
_OURS = {".lock", "config.json.tmp"}  # may lie in a directory that holds no run yet


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

    def config(self) -> dict[str, Any]:
        """Returns the resolved config that the run was started with."""
        return _read_json(self.path / "config.json")

    def finished(self) -> bool:
        """True if the run did all of its steps."""
        return bool(self.status().get("finished", False))

    def status(self) -> dict[str, Any]:
        """Returns status.json, or {} where nothing was saved yet."""
        path = self.path / "status.json"
        found = _read_json(path) if path.exists() else {}
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
            if ours and (ours[2] or int(ours[1]) > step):
                path.unlink()
        return [number for number in range(1, step + 1) if number not in lines]

    def data(self) -> dict[str, Any]:
        """Returns the fingerprints of the data that the run was started with, or {}."""
        path = self.path / "data.json"
        return _read_json(path) if path.exists() else {}

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
        """Writes one object a completion; the file appears whole or not at all."""
        lines = (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
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
        lines = (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
        _write_whole(self.eval / f"{name}.samples.jsonl", lines)

    def read_metrics(self) -> list[dict[str, Any]]:
        """Returns the lines of metrics.jsonl, [] if there is none."""
        return read_jsonl(self.metrics) if self.metrics.exists() else []

    def release(self) -> None:
        """Lets another process train here. The end of the process does so too."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def claim(workdir: str | Path, config: Mapping[str, Any]) -> RunDirectory:
    """Takes a directory for training: a new run, or an interrupted one of this config.

    Args:
      workdir: the directory; made if missing.
      config: the resolved config as plain JSON values.

    Raises:
      UserError: it is in use by another process, holds something else, holds a
        finished run, or holds a run of another config. The line says what to do.
    """
    path = Path(workdir)
    plain: dict[str, Any] = json.loads(json.dumps(config))  # tuples become lists
    _refuse_foreign(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        run = RunDirectory(path, _take_lock(path))
        try:
            _settle(run, plain)
        except BaseException:
            run.release()
            raise
    except OSError as error:
        raise UserError(
            f"cannot write to {error.filename or path}: {error.strerror}; give another "
            "--workdir or mend the rights"
        ) from error
    return run


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


def _refuse_foreign(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UserError(f"--workdir {path} is a file: give a directory")
    if path.is_dir() and not (path / "config.json").exists():
        others = sorted(p.name for p in path.iterdir() if p.name not in _OURS)
        if others:
            raise UserError(
                f"--workdir {path} is not empty and holds no run (it has {others[0]}): "
                "give a new or empty directory"
            )


def _take_lock(path: Path) -> TextIO:
    # flock, since the system drops it when the process dies, however it dies. Python
    # opens files close-on-exec, so grader processes do not keep it.
    lock = (path / ".lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        owner = lock.read().strip() or "unknown"
        lock.close()
        raise UserError(
            f"run directory {path} is in use by another process (pid {owner}): wait "
            "for it, stop it, or give another --workdir"
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _settle(run: RunDirectory, config: dict[str, Any]) -> None:
    found, known = versions(), run.path / "versions.json"
    if (run.path / "config.json").exists():
        old = run.config()
        changes = _differences(old, config)
        _refuse_changes(run, old, changes)
        if run.finished():
            if "steps" not in changes:
                raise UserError(
                    f"the run in {run.path} is finished ({run.status()['step']} "
                    "steps): give a new --workdir to run again, or a larger "
                    "--config.steps to go on from its last checkpoint"
                )
            run.mark(step=run.status()["step"], finished=False)
        run.notes += [f"{name}: {a!r} -> {b!r}" for name, (a, b) in changes.items()]
        if known.exists():
            try:
                differ = _differences(_read_json(known), found)
            except UserError as error:  # it only informs
                run.notes.append(f"{error}; written anew")
                differ = {}
            run.notes += [_version_note(name, *pair) for name, pair in differ.items()]
    # First what makes the directory a run: a kill after it leaves one to resume.
    write_json(run.path / "config.json", config)
    write_json(known, found)
    for directory in (run.rollouts, run.checkpoints, run.eval):
        directory.mkdir(exist_ok=True)


def _version_note(name: str, before: Any, now: Any) -> str:
    if name == "code":
        return (
            f"agrae_jax's own code has changed since the last launch ({before}, now"
            f" {now}): steps from here on may differ from those of an unbroken run"
        )
    return f"{name.removeprefix('packages.')} {before} -> {now} since the last launch"


def _refuse_changes(
    run: RunDirectory, old: dict[str, Any], changes: dict[str, tuple[Any, Any]]
) -> None:
    schedule = _flat(old).get("optim.schedule", "constant")
    for name, (before, now) in changes.items():
        if name.startswith(MAY_DIFFER):
            continue
        if name == "steps" and now > before and schedule == "constant":
            continue
        more = f" under a {schedule} schedule" if name == "steps" else ""
        raise UserError(
            f"run directory {run.path} was started with {name}={before!r}, not "
            f"{now!r}{more}: resume with --config.{name}={before}, or give a new "
            "--workdir"
        )


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    a, b = _flat(old), _flat(new)
    return {
        name: (a.get(name), b.get(name))
        for name in sorted(a.keys() | b.keys())
        if name not in a or name not in b or a[name] != b[name]
    }


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{path} is damaged: it does not hold a JSON object")
    return found


def _write_whole(path: Path, lines: Iterable[str]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
