"""Makes the runs of an experiment that are not there yet, one after the other.

    python -m experiments.launch agrae_table5 --scale=cpu [--dry]
        [--root=runs/experiments] [any --config override, for all runs]

A run is one directory, ROOT/NAME/SCALE/LABEL-seedN. A finished one is left alone, an
interrupted one resumes. `--dry` prints the commands and what is lacking.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agrae_jax import config
from agrae_jax.errors import UserError
from experiments import runs

ROOT = "runs/experiments"


class Planned(NamedTuple):
    """A run of one seed, where it lies and the command that makes or resumes it."""

    label: str
    seed: int
    workdir: Path
    command: tuple[str, ...]

    def state(self) -> str:
        """finished, started or missing, by what its directory says."""
        try:
            status = json.loads((self.workdir / "status.json").read_text("utf-8"))
            return "finished" if status["finished"] else "started"
        except FileNotFoundError:
            return "started" if (self.workdir / "config.json").exists() else "missing"


def plan(
    name: str, scale: str, root: str = ROOT, extra: tuple[str, ...] = ()
) -> Iterator[Planned]:
    """Every run of an experiment, seed by seed, so that each seed is a whole table."""
    module = runs.load(name)
    chosen = {**runs.SCALES, **getattr(module, "SCALES", {})}[scale]
    for seed in chosen.seeds:
        for run in module.RUNS:
            slug = "".join(c if c.isalnum() or c in ".-" else "_" for c in run.label)
            workdir = Path(root) / name / scale / f"{slug}-seed{seed}"
            command = (
                *(sys.executable, "-m", "agrae_jax.train"),
                f"--config={chosen.config}",
                *chosen.overrides,
                *run.overrides,
                *extra,
                f"--config.seed={seed}",
                f"--workdir={workdir}",
            )
            yield Planned(run.label, seed, workdir, command)


def main(arguments: list[str]) -> int:
    """Makes what is missing; returns the exit code of the first run that fails."""
    name, options, extra = parse(arguments)
    if not hasattr(runs.load(name), "RUNS"):
        print(f"{name} needs no run: python -m experiments.collect {name}")
        return 0
    dry = "dry" in options
    scale, root = options.get("scale", "cpu"), options.get("root", ROOT)
    planned = list(plan(name, scale, root, extra))
    todo = [run for run in planned if run.state() != "finished"]
    print(f"{name} at scale {scale}: {len(planned)} runs, {len(todo)} to make")
    for number, run in enumerate(planned, 1):
        state = run.state()
        print(f"[{number}/{len(planned)}] {run.label} seed {run.seed}: {state}")
        if state == "finished":
            continue
        print("  " + " ".join(("python", *run.command[1:])), flush=True)
        code = 0 if dry else subprocess.run(run.command).returncode
        if code:
            print(f"error: {run.workdir} ended with code {code}", file=sys.stderr)
            return code
    return 0


def parse(arguments: list[str]) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """(experiment, options, config overrides). Raises UserError if misused."""
    options: dict[str, str] = {}
    extra = tuple(a for a in arguments if a.startswith("--config."))
    words = []
    for argument in arguments:
        if argument in extra:
            continue
        key, _, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--"):
            words.append(argument)
        elif key in ("scale", "root", "dry", "out"):
            options[key] = value
        else:
            raise UserError(f"{argument} is unknown: --scale, --root, --dry")
    scale = options.get("scale", "cpu")
    if scale not in runs.SCALES:
        raise UserError(f"--scale={scale} must be {' or '.join(runs.SCALES)}")
    if len(words) != 1:
        raise UserError(f"name one experiment: {', '.join(runs.names())}")
    return words[0], options, extra


if __name__ == "__main__":
    config.main(main)
