"""The curves of a report as inline SVG. The door of matplotlib.

Text and axes take the page's colours, so that light and dark and print all work.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from agrae_jax.reports.files import Line, number
from agrae_jax.reports.gather import Run

matplotlib.use("Agg")
_INK = "#010203"  # stands for the page's text colour until the SVG is written
# Okabe and Ito's colours, told apart by most eyes; dark enough and light enough.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#888888")
_STYLES = ("-", "--", ":", "-.")
_WIDTH, _HEIGHT = 4.6, 2.7  # inches

# title -> names of metrics drawn together; a name that ends in / stands for all below
PANELS: dict[str, tuple[str, ...]] = {
    "Reward": ("reward",),
    "Share correct": ("correct",),
    "Pass rate by level": ("pass_rate/",),
    "Entropy, nats a token": ("entropy",),
    "Length, tokens": ("length",),
    "Shares of groups and completions": (
        "dead_groups",
        "all_solved",
        "none_solved",
        "truncated",
        "ungradable",
    ),
    "Advantage mass by sign": ("advantage_positive", "advantage_negative"),
    "Positive mass by success rate": ("advantage_positive/",),
    "Negative mass by success rate": ("advantage_negative/",),
    "Update magnitude by success rate": ("update_magnitude/",),
    "Clipped share of tokens": ("clip_fraction",),
    "KL to the policy that sampled": ("approx_kl",),
    "Gradient norm": ("grad_norm",),
    "Loss": ("loss",),
    "Sampler against trainer, nats": ("sampler_diff",),
    "Tokens a second": ("time/sampling_tokens_per_s", "time/learning_tokens_per_s"),
    "Seconds of a step": ("time/sample_s", "time/verify_s", "time/learn_s"),
}


def panels(studies: Mapping[str, Sequence[Run]]) -> list[tuple[str, str]]:
    """(title, SVG) of every panel that has something to show."""
    found = {
        name
        for runs in studies.values()
        for run in runs
        for line in run.metrics
        for name, value in line.items()
        if number(value) is not None
    }
    out = []
    for title, wanted in PANELS.items():
        names = [name for pattern in wanted for name in _matches(pattern, found)]
        names = [name for name in names if _moves(name, studies)]
        if names:
            out.append((title, _panel(title, names, studies)))
    return out


def _matches(pattern: str, found: set[str]) -> list[str]:
    if pattern.endswith("/"):
        return sorted(name for name in found if name.startswith(pattern))
    return [pattern] if pattern in found else []


def _moves(name: str, studies: Mapping[str, Sequence[Run]]) -> bool:
    """Whether a metric is ever other than 0: nothing can be seen of it otherwise."""
    lines = (line for runs in studies.values() for run in runs for line in run.metrics)
    return any(number(line.get(name)) for line in lines)


def _panel(title: str, names: Sequence[str], studies: Mapping[str, Any]) -> str:
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axis = figure.add_subplot()
    several = len(studies) > 1
    for study, (label, runs) in enumerate(studies.items()):
        for index, name in enumerate(names):
            step, values = _series(name, runs)
            if not len(step):
                continue
            colour = COLOURS[(study if several and len(names) == 1 else index) % 7]
            style = _STYLES[study % 4] if several and len(names) > 1 else "-"
            short = name.rpartition("/")[2].removeprefix("advantage_")
            parts = [label] if several else []
            parts += [short] if len(names) > 1 else []
            marker = "o" if len(step) == 1 else None
            middle = np.nanmean(values, 0)
            axis.plot(
                step, middle, style, color=colour, lw=1.5, marker=marker,
                label=": ".join(parts) or None,
            )  # fmt: skip
            if len(runs) > 1:
                low, high = np.nanmin(values, 0), np.nanmax(values, 0)
                axis.fill_between(step, low, high, color=colour, alpha=0.18, lw=0)
    axis.set_xlabel("step", color=_INK)
    axis.grid(alpha=0.25, color=_INK)
    axis.tick_params(colors=_INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(_INK)
    if axis.get_legend_handles_labels()[0]:
        figure.legend(
            loc="outside lower center",
            fontsize=7,
            frameon=False,
            labelcolor=_INK,
            ncols=2 if several else 4,
        )
    return _svg(figure, title)


def _series(name: str, runs: Sequence[Run]) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and values [runs, steps], NaN where a run has none."""
    steps = sorted({int(line["step"]) for run in runs for line in run.metrics})
    place = {step: i for i, step in enumerate(steps)}
    values = np.full((len(runs), len(steps)), np.nan)
    for row, run in enumerate(runs):
        for line in run.metrics:
            value = number(line.get(name))
            values[row, place[int(line["step"])]] = np.nan if value is None else value
    some = ~np.isnan(values).all(0)
    return np.array(steps)[some], values[:, some]


def _svg(figure: Figure, title: str) -> str:
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    # Ids are unique in a file, not among the many files of one page.
    prefix = re.sub(r"\W+", "-", title.lower())
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", svg)
    label = f'<svg role="img" aria-label="{title}"'
    return svg.replace("<svg", label, 1)


def last(lines: Sequence[Line], name: str) -> float | None:
    """The newest number of a metric."""
    for line in reversed(lines):
        value = number(line.get(name))
        if value is not None:
            return value
    return None
