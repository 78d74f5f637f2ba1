"""Draws the quickstart's curves over seeds for `docs/quickstart.md`, and its table.

Command: python -m experiments.quickstart_curves runs/seed0 runs/seed1 runs/seed2
             --out=docs/images/quickstart.png
Reads run directories only; prints the before/after table as Markdown.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def read_run(path: Path) -> tuple[list[dict], dict, dict, dict]:
    """Metrics lines, evaluations before and after, and the paired differences."""
    lines = (path / "metrics.jsonl").read_text().splitlines()
    steps = json.loads((path / "status.json").read_text())["step"]

    def load(name: str) -> dict:
        return json.loads((path / "eval" / f"arithmetic_{name}.json").read_text())

    before, after = load(f"step_{0:06d}"), load(f"step_{steps:06d}")
    return [json.loads(x) for x in lines], before, after, load("difference")


def draw(runs: list[tuple], out: Path) -> None:
    """Four panels: pass rate, entropy, levels before and after, pass@k."""
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for seed, (lines, *_) in enumerate(runs):
        step = [x["step"] for x in lines]
        for axis, name in ((axes[0, 0], "correct"), (axes[0, 1], "entropy")):
            axis.plot(step, [x[name] for x in lines], label=f"seed {seed}", lw=1.5)
    axes[0, 0].set(title="Training: share correct", xlabel="step", ylim=(0, 1))
    axes[0, 1].set(title="Training: entropy (nats a token)", xlabel="step")
    axes[0, 1].set_ylim(bottom=0)
    axes[0, 0].legend(frameon=False)

    levels = sorted(
        runs[0][1]["by_level"], key=lambda x: -mean_of(runs, 1, "by_level", x, "1")
    )
    place = np.arange(len(levels))
    for shift, index, label in ((-0.2, 1, "before"), (0.2, 2, "after")):
        height = [mean_of(runs, index, "by_level", level, "1") for level in levels]
        axes[1, 0].bar(place + shift, height, 0.38, label=label)
    axes[1, 0].set_xticks(place, levels, rotation=30, ha="right")
    axes[1, 0].set(title="Held-out pass@1 by level", ylim=(0, 1))
    axes[1, 0].legend(frameon=False)

    ks = list(runs[0][1]["pass@k"])
    for index, label in ((1, "before"), (2, "after")):
        for seed, run in enumerate(runs):
            values = [run[index]["pass@k"][k]["mean"] for k in ks]
            axes[1, 1].plot(
                ks,
                values,
                marker="o",
                color=f"C{index - 1}",
                label=label if seed == 0 else None,
            )
    axes[1, 1].set(title="Held-out pass@k", xlabel="k", ylim=(0, 1))
    axes[1, 1].legend(frameon=False)
    for axis in axes.flat:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)


def mean_of(runs: list[tuple], index: int, *keys: str) -> float:
    """Mean over seeds of one number of an evaluation."""
    values = []
    for run in runs:
        value = run[index]
        for key in keys:
            value = value[key]
        values.append(value)
    return float(np.mean(values))


def table(runs: list[tuple]) -> str:
    """Markdown: a row a seed and k, before, after and the paired difference."""

    def cell(x: dict, sign: str = "") -> str:
        mean, low, high = (f"{100 * x[n]:{sign}.1f}" for n in ("mean", "low", "high"))
        return f"{mean} [{low}, {high}]"

    rows = [
        "| seed | | before | after | difference |",
        "| --- | --- | --- | --- | --- |",
    ]
    for seed, (_, before, after, difference) in enumerate(runs):
        for k, gain in difference["pass@k"].items():
            old, new = before["pass@k"][k], after["pass@k"][k]
            cells = f"{cell(old)} | {cell(new)} | {cell(gain, '+')}"
            rows.append(f"| {seed} | pass@{k} | {cells} |")
    rows += [
        "",
        "| level | pass@1 before | after (mean of seeds) |",
        "| --- | --- | --- |",
    ]
    for level in runs[0][1]["by_level"]:
        old, new = (mean_of(runs, i, "by_level", level, "1") for i in (1, 2))
        rows.append(f"| pass@1 of {level} | {100 * old:.1f} | {100 * new:.1f} |")
    for name in ("mean_entropy", "mean_tokens", "answered", "truncated"):
        old, new = (mean_of(runs, i, name) for i in (1, 2))
        rows.append(f"| {name} | {old:.3f} | {new:.3f} |")
    return "\n".join(rows)


def main(argv: list[str]) -> int:
    """Reads run directories, draws and prints."""
    out = Path("docs/images/quickstart.png")
    paths = []
    for word in argv:
        if word.startswith("--out="):
            out = Path(word.removeprefix("--out="))
        else:
            paths.append(Path(word))
    if not paths:
        print("error: give one or more run directories", file=sys.stderr)
        return 2
    runs = [read_run(path) for path in paths]
    draw(runs, out)
    print(table(runs))
    print(f"\nwritten to {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
