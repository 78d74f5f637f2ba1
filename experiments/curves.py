"""Line figures as PNG and SVG, and the numbers behind them as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# The same file for the same numbers: no random ids, no date.
plt.rcParams["svg.hashsalt"] = "agrae_jax"

Series = dict[str, Any]  # x, xlabel, panels {title: {line: [y]}}; log, log_y


def draw(series: Series, path: Path) -> None:
    """Writes `path`.png and .svg, a panel a title."""
    panels = series["panels"]
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(5 * len(panels), 4),
        layout="constrained",
        squeeze=False,
    )
    for axis, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for label, values in lines.items():
            axis.plot(series["x"], values, label=label, lw=1.5)
        axis.set(title=title, xlabel=series["xlabel"])
        if series.get("log"):
            axis.set_xscale("log", base=2)
        if series.get("log_y"):
            axis.set_yscale("log")
        else:
            axis.axhline(0, color="0.8", lw=0.8, zorder=0)
        axis.legend(frameon=False, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(
        path.parent / f"{path.name}.png", dpi=150, metadata={"Software": None}
    )
    figure.savefig(path.parent / f"{path.name}.svg", metadata={"Date": None})
    plt.close(figure)


def write(series: Series, path: Path) -> None:
    """Writes x, panel, line, y; five decimals."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([series["xlabel"], "panel", "line", "value"])
        out.writerows(_rows(series))


def _rows(series: Series) -> Iterable[tuple[str, str, str, str]]:
    for title, lines in series["panels"].items():
        for label, values in lines.items():
            for x, y in zip(series["x"], values, strict=True):
                # Five decimals, and no minus before a zero that rounding made.
                yield f"{x:.6g}", title, label, f"{round(y, 5) + 0.0:.5f}"
