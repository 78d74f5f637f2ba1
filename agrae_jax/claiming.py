"""Taking a directory for training: a new run, an interrupted one, or a refusal.

Nothing is loaded before, so every refusal comes at once; docs/run_directory.md has the
table of what is taken and what is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from agrae_jax.errors import UserError
from agrae_jax.run_directory import RunDirectory, read_json, write_json
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
    "updates.on_nan",
)
_OURS = {".lock", "config.json.tmp"}  # may lie in a directory that holds no run yet


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
    try:
        _refuse_foreign(path)
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
        _check_status(run, old.get("steps"))
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
                differ = _differences(read_json(known), found)
            except UserError as error:  # it only informs
                run.notes.append(f"{error}; written anew")
                differ = {}
            run.notes += [_version_note(name, *pair) for name, pair in differ.items()]
    # First what makes the directory a run: a kill after it leaves one to resume.
    write_json(run.path / "config.json", config)
    write_json(known, found)
    for directory in (run.rollouts, run.checkpoints, run.eval):
        directory.mkdir(exist_ok=True)


def _check_status(run: RunDirectory, steps: Any) -> None:
    """Refuses a status.json that this run, of so many steps, cannot have written."""
    if type(steps) is not int:
        raise UserError(
            f"{run.path / 'config.json'} is damaged: it lacks the run's steps; put it"
            " back, or give a new --workdir"
        )
    status = run.status()
    step = status.get("step", 0)
    possible = step == steps if status.get("finished") else 0 <= step <= steps
    if not possible:
        state = "finished at" if status.get("finished") else "saved"
        raise UserError(
            f"{run.path / 'status.json'} is damaged: it says {state} step {step}, of a"
            f" run of {steps} steps (config.json); remove it, and the run goes on from"
            " its newest checkpoint"
        )


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
        if name.startswith(MAY_DIFFER) or name not in _flat(old):
            continue  # a field that a newer version brought is noted, not refused
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
