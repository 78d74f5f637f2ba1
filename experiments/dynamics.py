"""Training curves of an experiment: metrics by step, kept as CSV and drawn.

An experiment names them in CURVES: names of `metrics.jsonl` (docs/metrics.md).
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments import launch

COLUMNS = ("label", "seed", "metric", "step", "value")
Curves = dict[tuple[str, int, str], dict[int, float]]  # -> step: value


def harvest(name: str, scale: str, root: str, metrics: tuple[str, ...]) -> Curves:
    """The curves of every finished run; a step without a value is left out."""
    found: Curves = {}
    for run in launch.plan(name, scale, root):
        if run.state() != "finished":
            continue
        path = run.workdir / "metrics.jsonl"
        lines = [json.loads(x) for x in path.read_text("utf-8").splitlines()]
        for metric in metrics:
            values = {
                int(line["step"]): float(line[metric])
                for line in lines
                if line.get(metric) is not None
            }
            if values:
                found[run.label, run.seed, metric] = values
    return found


def read(path: Path) -> Curves:
    """What was kept before; {} if there is no such file."""
    found: Curves = {}
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                key = row["label"], int(row["seed"]), row["metric"]
                found.setdefault(key, {})[int(row["step"])] = float(row["value"])
    return found


def write(path: Path, curves: Curves) -> None:
    """Writes all curves, in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for key, values in sorted(curves.items()):
            out.writerows((*key, step, f"{y:.6g}") for step, y in values.items())


def series(curves: Curves, order: list[str], metrics: tuple[str, ...]) -> Any:
    """A panel a metric, a line a run: the mean over the seeds that have the step."""
    steps = sorted({step for values in curves.values() for step in values})
    panels = {}
    for metric in metrics:
        lines = {}
        for label in order:
            seeds = [v for (x, _, m), v in curves.items() if (x, m) == (label, metric)]
            if seeds:
                lines[label] = [_mean(seeds, step) for step in steps]
        panels[f"{metric} in training"] = lines
    return {"x": steps, "xlabel": "step", "panels": panels}


def _mean(seeds: list[dict[int, float]], step: int) -> float:
    values = [values[step] for values in seeds if step in values]
    return float(np.mean(values)) if values else float("nan")
