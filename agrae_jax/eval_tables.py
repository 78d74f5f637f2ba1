"""The tables of `evaluate`: all data sets at a glance, each k, and a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agrae_jax.console import Console
from agrae_jax.evaluation.comparison import differences, matched
from agrae_jax.evaluation.others import Result
from agrae_jax.rl.intervals import FEW
from agrae_jax.run_directory import RunDirectory


def print_results(console: Console, results: Mapping[str, Sequence[Result]]) -> str:
    """One line a data set, then its pass@k and maj@k, levels and subjects."""
    columns = ("data set", "problems", "n", "avg@n", "pass@n", "maj@n", "greedy")
    columns += ("truncated", "entropy", "tokens")
    rows = [_row(name, runs[0]) for name, runs in results.items()]
    title = "percent; entropy in nats a token, tokens a completion"
    text = console.table(columns, rows, title=title)
    for name, runs in results.items():
        text += _one(console, name, runs)
    return text


def _row(name: str, result: Result) -> tuple[str, ...]:
    last = list(result["pass@k"].values())[-1:] or [None]
    majority = list(result["maj@k"].values())[-1:] or [None]
    return (
        name,
        str(result["problems"]),
        str(result["samples"]),
        _percent(result["avg@n"]),
        _percent(last[0]),
        _percent(majority[0]),
        _percent(result["greedy"]),
        f"{100 * result['truncated']:.1f}",
        f"{result['mean_entropy']:.3f}",
        f"{result['mean_tokens']:.1f}",
    )


def _one(console: Console, name: str, runs: Sequence[Result]) -> str:
    result = runs[0]
    title = f"{name}; percent, with 95 % intervals over problems"
    if result["problems"] < FEW:
        title += f"; fewer than {FEW} problems: intervals too narrow to trust"
    columns: tuple[str, ...] = ("", "mean", "low", "high")
    kinds = ("pass@k", "maj@k")
    rows = [
        (f"{kind[:-1]}{k}", *_interval(value))
        for kind in kinds
        for k, value in result[kind].items()
    ]
    if len(runs) > 1:
        title += f"; mean and deviation over {len(runs)} runs on the right"
        columns += ("runs", "sd")
        spread = [
            _spread([run[kind][k]["mean"] for run in runs if k in run[kind]])
            for kind in kinds
            for k in result[kind]
        ]
        rows = [(*row, *more) for row, more in zip(rows, spread, strict=True)]
    text = console.table(columns, rows, title=title)
    for what in ("level", "subject"):
        groups = {g: t for g, t in result[f"by_{what}"].items() if t and g != ""}
        if groups:
            last = [list(table.items())[-1] for table in groups.values()]
            cells = [
                (str(group), f"{100 * table['1']:.1f}", f"{100 * value:.1f} (k={k})")
                for (group, table), (k, value) in zip(groups.items(), last, strict=True)
            ]
            columns = (what, "pass@1", "pass@n")
            text += console.table(columns, cells, title=f"{name} by {what}")
    return text


def print_comparison(
    console: Console,
    directory: RunDirectory,
    name: str,
    there: Mapping[str, Sequence[Result]],
    here: Mapping[str, Sequence[Result]],
) -> str:
    """Prints here - there of pass@k and writes eval/<name>_difference.json.

    Each side holds the evaluations of its runs, by the name of the run.
    """
    sides = (
        [[result["records"] for result in results] for results in side.values()]
        for side in (there, here)
    )
    rows = differences(*matched(*sides))
    unit, pairs = "paired over questions: sign-flip test", ""
    with_runs = bool(rows) and all("p_runs" in row for row in rows.values())
    if with_runs:
        what = "runs" if len(here) > 1 else "evaluations of different noise"
        unit += f"; paired over {what}, the i-th with the i-th: t-test"
        if len(here) > 1:
            paired = zip(here, there, strict=True)
            pairs = "pairs: " + ", ".join(map(" - ".join, paired)) + "\n"
            console.say(pairs.strip())
    other = ", ".join(there)
    value = {"other": other, "runs": list(here), "unit": unit, "pass@k": rows}
    directory.write_evaluation(f"{name}_difference", value)
    columns = ["", "difference", "low", "high", "questions", "p", "p (Holm)"]
    columns += ["runs", "t", "p", "p (Holm)"] if with_runs else []
    cells = []
    for k, row in rows.items():
        line = [f"pass@{k}", *(f"{100 * row[end]:+.1f}" for end in _ENDS)]
        line += [str(row["questions"])]
        line += [f"{row[p]:.4f}" for p in ("p_questions", "p_questions_holm")]
        if with_runs:
            line += [str(row["runs"]), _number(row["t"], 2)]
            line += [_number(row[p], 4) for p in ("p_runs", "p_runs_holm")]
        cells.append(line)
    title = f"{name} minus that of {other}; points; {unit}"
    return pairs + console.table(columns, cells, title=title)


_ENDS = ("mean", "low", "high")


def _interval(value: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(f"{100 * value[end]:.1f}" for end in _ENDS)


def _percent(value: Mapping[str, float] | None) -> str:
    return "-" if value is None else f"{100 * value['mean']:.1f}"


def _number(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _spread(means: Sequence[float]) -> tuple[str, str]:
    deviation = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    return f"{100 * float(np.mean(means)):.1f}", f"{100 * deviation:.1f}"
