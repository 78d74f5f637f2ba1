"""Puts a report together: tables, curves and rollouts in one file that needs no other.

The door of jinja2 for pages: what it writes is escaped, and rollouts are JSON that the
page's script shows as text, so that no completion can act in a reader's browser.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2

from agrae_jax.reports import curves
from agrae_jax.reports.files import Line, number
from agrae_jax.reports.gather import Run, before_after, flat, studies


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of the page."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Difference:
    """What `evaluation.comparison.differences` says of two studies, by k."""

    title: str
    gains: Mapping[str, Line]
    note: str = ""


def render(
    runs: Sequence[Run],
    rollouts: Mapping[int, Sequence[Line]],
    left_out: int,
    differences: Sequence[Difference] = (),
) -> str:
    """The HTML of a report on the first run, the others drawn beside it."""
    run = runs[0]
    groups = studies(runs)
    script = _asset("page.js")
    digest = hashlib.sha256(script.encode()).digest()
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_asset("page.html")).render(
        title=" and ".join(dict.fromkeys(r.name for r in runs)),
        css=_asset("page.css"),
        script=script,
        script_hash=base64.b64encode(digest).decode(),
        data=_json_in_html(rollouts),
        facts=_facts(run),
        tables=[
            *(table for r in runs for table in _results(r, several=len(runs) > 1)),
            *map(_between, differences),
        ],
        several=len(runs) > 1,
        name=run.name,
        panels=curves.panels(groups),
        health=_health(run),
        rollout_note=_rollout_note(run, rollouts, left_out),
        prompt=run.prompt,
        settings=_settings(run),
    )


def _facts(run: Run) -> list[tuple[str, str]]:
    c = flat(run.config)
    steps, done = c["steps"], len(run.metrics)
    # The report of a run that ends is written before its status.
    finished = run.status.get("finished") or done >= steps
    seconds = [
        curves.last([line], f"time/{name}_s") or 0.0
        for line in run.metrics
        for name in ("sample", "verify", "learn")
    ]
    prompts, samples = c.get("rollout.prompts", "?"), c.get("rollout.samples", "?")
    rate = number(c.get("optim.learning_rate"))
    return [
        ("model", str(c.get("model.path", "?"))),
        ("method", str(c.get("method.name", "?"))),
        ("data", str(c.get("data.train", "?"))),
        ("batch", f"{prompts} prompts x {samples}"),
        ("steps", str(steps)),
        ("learning rate", "?" if rate is None else f"{rate:g}"),
        ("seed", str(c.get("seed", "?"))),
        ("state", "finished" if finished else f"{done} of {steps} steps"),
        ("time in steps", f"{sum(seconds) / 60:.1f} minutes"),
    ]


def _results(run: Run, *, several: bool) -> list[Table]:
    prefix = f"{run.name}: " if several else ""
    tables = []
    for name, before, after, difference in before_after(run):
        if before is None or after is None:
            only = before or after
            if only is not None:
                rows = [(f"pass@{k}", _cell(v)) for k, v in only["pass@k"].items()]
                title = f"{prefix}{name}, step {only.get('step', '?')}"
                tables.append(Table(title, ("", "percent"), rows))
            continue
        gains = (difference or {}).get("pass@k", {})
        rows = [
            (
                f"pass@{k}",
                _cell(before["pass@k"][k]),
                _cell(value),
                _cell(gains.get(k), "+"),
            )
            for k, value in after["pass@k"].items()
            if k in before["pass@k"]
        ]
        note = (
            f"{after.get('problems')} held-out problems x {after.get('samples')}"
            " samples; percent, with 95 % intervals over problems. Entropy, nats a"
            f" token: {_fixed(before, 'mean_entropy', 3)} to"
            f" {_fixed(after, 'mean_entropy', 3)}; mean length"
            f" {_fixed(before, 'mean_tokens', 1)} to {_fixed(after, 'mean_tokens', 1)}."
        )
        head = ("", "before", "after", "paired difference")
        tables.append(Table(prefix + name, head, rows, note))
        levels = [
            (level or "all", _percent(old.get("1")), _percent(new.get("1")))
            for level, old in before["by_level"].items()
            if (new := after["by_level"].get(level)) is not None
        ]
        if len(levels) > 1:
            head = ("level", "pass@1 before", "after")
            tables.append(Table(f"{prefix}{name}, by level", head, levels))
    return tables


def _between(difference: Difference) -> Table:
    """The pass@k differences of two studies."""
    gains = difference.gains
    over_runs = any("p_runs" in row for row in gains.values())
    head = [
        "",
        "difference",
        "p over questions",
        *(["p over runs"] if over_runs else []),
    ]
    rows = [
        [
            f"pass@{k}",
            _cell(row, "+"),
            _fixed(row, "p_questions_holm", 4),
            *([_fixed(row, "p_runs_holm", 4)] if over_runs else []),
        ]
        for k, row in gains.items()
    ]
    said = (
        f"{next(iter(gains.values())).get('questions')} problems of the last"
        " evaluations; percent, with 95 % intervals over problems; p-values after"
        " Holm. The same with fresh samples: python -m agrae_jax.evaluate"
        " --workdir=A --compare=B."
        if gains
        else ""
    )
    note = " ".join(filter(None, [said, difference.note]))
    return Table(difference.title, head if gains else [], rows, note)


def _health(run: Run) -> list[str]:
    lines = [
        f"{name} is kept in faults/: a step that was no number" for name in run.faults
    ]
    words = {
        "ungradable": "completions could not be graded",
        "deadlines": "gradings hit the deadline",
        "audit": "verdicts differ from the second grader's",
    }
    lines += [
        f"{count} {words.get(name, name)} (verify/{name}.jsonl)"
        for name, count in run.counts.items()
        if count
    ]
    for name, what in (
        ("dead_groups", "of the groups had no signal"),
        ("truncated", "of the completions were cut at the limit"),
    ):
        value = curves.last(run.metrics, name)
        if value:
            lines.append(f"in the last step {100 * value:.0f} % {what}")
    skipped = sum(bool(line.get("skipped_updates")) for line in run.metrics)
    if skipped:
        lines.append(f"{skipped} updates were skipped, since they were no number")
    return lines or ["nothing to report: no faults, no ungradable completions"]


def _rollout_note(run: Run, rollouts: Mapping[int, Any], left_out: int) -> str:
    if not rollouts:
        return f"No rollouts were saved in {run.name} (log.rollouts_every)."
    more = f" {left_out} more steps are in rollouts/." if left_out else ""
    return (
        f"Of {run.name}: {len(rollouts)} steps.{more} The marked part of a completion"
        " is what the verifier took for the answer."
    )


def _settings(run: Run) -> list[Table]:
    rows = [(name, json.dumps(value)) for name, value in flat(run.config).items()]
    tables = [Table("Every field of the config", ("field", "value"), rows)]
    versions = [(name, str(value)) for name, value in flat(run.versions).items()]
    if versions:
        tables.append(Table("Versions", ("what", "version"), versions))
    return tables


def _cell(value: Mapping[str, Any] | None, sign: str = "") -> str:
    numbers = [number((value or {}).get(n)) for n in ("mean", "low", "high")]
    if any(x is None for x in numbers):
        return ""
    mean, low, high = (f"{100 * x:{sign}.1f}" for x in numbers if x is not None)
    return f"{mean} [{low}, {high}]"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _fixed(result: Line, name: str, digits: int) -> str:
    value = number(result.get(name))
    return "-" if value is None else f"{value:.{digits}f}"


def _json_in_html(value: Any) -> str:
    """JSON that ends no script element, whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("agrae_jax.reports").joinpath(name).read_text("utf-8")
