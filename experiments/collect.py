"""Prints an experiment's table with intervals and tests, and draws its figure.

    python -m experiments.collect agrae_table5 [--scale=cpu] [--root=runs/experiments]

Finished runs are read from their directories into `results/NAME.SCALE.csv`, one row a
run, seed and problem with the counts from which every pass@k follows; what is not on
this machine is taken from that file as it was committed. An experiment without runs
evaluates the methods' own formulas.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from agrae_jax import config
from experiments import curves, dynamics, launch, runs, tables

COLUMNS = ("label", "seed", "step", "problem", "valid", "correct")


def main(arguments: list[str]) -> int:
    """Collects one experiment; returns 1 where there is nothing to show yet."""
    name, options, _ = launch.parse(arguments)
    module = runs.load(name)
    out = Path(options.get("out") or runs.FOLDER / "results")
    if not hasattr(module, "RUNS"):
        curves.draw(module.series(), out / name)
        curves.write(module.series(), out / f"{name}.csv")
        print(f"{out / name}.png, .svg and .csv are the methods' own formulas, exact")
        return 0
    scale = options.get("scale", "cpu")
    path = out / f"{name}.{scale}.csv"
    kept = read(path)
    root = options.get("root", launch.ROOT)
    kept |= harvest(name, scale, root)
    if not kept:
        print(f"no run of {name} at scale {scale} yet: python -m experiments.launch")
        print(tables.expected_table(module.EXPECTED, module.NOTES))
        return 1
    write(path, kept)
    order = [run.label for run in module.RUNS]
    report = tables.report(kept, order)
    if scale == "paper":
        report += tables.against(kept, module.EXPECTED)
    notes = tables.expected_table(module.EXPECTED, module.NOTES)
    print(report + "\n" + notes)
    curves.draw(tables.pass_at_k_series(kept, order), out / f"{name}.{scale}")
    metrics = getattr(module, "CURVES", ())
    if metrics:
        path = out / f"{name}.{scale}.curves.csv"
        lines = dynamics.read(path) | dynamics.harvest(name, scale, root, metrics)
        dynamics.write(path, lines)
        panels = dynamics.series(lines, order, metrics)
        curves.draw(panels, out / f"{name}.{scale}.curves")
    return 0


Rows = dict[tuple[str, int], list[dict[str, int]]]  # (label, seed) -> its problems


def harvest(name: str, scale: str, root: str) -> Rows:
    """The last evaluation of every finished run."""
    found: Rows = {}
    for run in launch.plan(name, scale, root):
        if run.state() != "finished":
            continue
        step = _json(run.workdir / "status.json")["step"]
        test = _json(run.workdir / "config.json")["data"]["test"]
        paths = sorted((run.workdir / "eval").glob(f"*_step_{step:06d}.json"))
        held_out = [x for x in map(_json, paths) if x.get("dataset") == test]
        if not held_out:
            print(f"{run.workdir} has no evaluation of step {step}: left out")
            continue
        found[run.label, run.seed] = [
            {
                "step": step,
                "problem": int(record["id"]),
                "valid": int(record["valid"]),
                "correct": int(record["correct"]),
            }
            for record in held_out[0]["records"]
            if record["valid"]
        ]
    return found


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def read(path: Path) -> Rows:
    """What was collected before; {} if there is no such file."""
    found: Rows = {}
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                key = row["label"], int(row["seed"])
                numbers = {name: int(row[name]) for name in COLUMNS[2:]}
                found.setdefault(key, []).append(numbers)
    return found


def write(path: Path, rows: Rows) -> None:
    """Writes all rows; in order, so that a new run is a few new lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        names: list[str] = list(COLUMNS)
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for (label, seed), problems in sorted(rows.items()):
            for problem in problems:
                writer.writerow({"label": label, "seed": seed} | problem)


if __name__ == "__main__":
    config.main(main)
