"""What a report is made of, read from run directories and nothing else."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.reports.files import (
    Line,
    count_lines,
    number,
    read_lines,
    read_object,
    read_text,
)

# Fields of a config in which two runs may differ and still be seeds of one study.
_SEEDS = ("seed", "log", "checkpoint", "mesh")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run directory, as values."""

    path: Path
    config: dict[str, Any]
    metrics: list[Line]
    evaluations: Mapping[str, Line]  # file name without .json -> result, no records
    versions: Line
    status: Line
    prompt: str
    faults: list[str]
    counts: dict[str, int]  # lines of verify/*.jsonl
    started_on: Line = dataclasses.field(default_factory=dict)  # data.json

    @property
    def name(self) -> str:
        """The directory's own name."""
        return self.path.resolve().name


def read_run(path: str | Path) -> Run:
    """Reads a run directory; raises UserError where it is none or a file is broken."""
    path = Path(path)
    if not (path / "config.json").is_file():
        raise UserError(f"{path} is not a run directory: it has no config.json")
    config = read_object(path / "config.json")
    if type(config.get("steps")) is not int:
        raise UserError(f"{path / 'config.json'} is damaged: steps is no whole number")
    return Run(
        path=path,
        config=config,
        metrics=_metrics(path / "metrics.jsonl"),
        evaluations={
            file.stem: _evaluation(file) for file in _files(path / "eval", "*.json")
        },
        versions=read_object(path / "versions.json", {}),
        status=read_object(path / "status.json", {}),
        prompt=read_text(path / "prompt.txt"),
        faults=sorted(file.name for file in (path / "faults").glob("*.npz")),
        counts={
            file.stem: count_lines(file) for file in _files(path / "verify", "*.jsonl")
        },
        started_on=read_object(path / "data.json", {}),
    )


def read_rollouts(path: Path, *, most: int) -> tuple[dict[int, list[Line]], int]:
    """Completions by step, of at most about `most` in all; and the steps left out.

    Where there are more, steps are taken evenly, the first and the last among them.
    """
    found = _files(path / "rollouts", "step_*.jsonl")
    files = [file for file in found if re.fullmatch(r"step_[0-9]{6,12}", file.stem)]
    if not files:
        return {}, 0
    first = list(read_lines(files[0]))
    count = max(2, most // max(len(first), 1))
    if len(files) > count:
        chosen = [
            files[round(i * (len(files) - 1) / (count - 1))] for i in range(count)
        ]
    else:
        chosen = files
    steps = {
        int(file.stem.removeprefix("step_")): list(read_lines(file)) for file in chosen
    }
    return steps, len(files) - len(chosen)


def studies(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that differ in their seed only stand together, under one label.

    A field that one of two runs does not have (it is of another version) does not part
    them.
    """
    groups: list[list[Run]] = []
    for run in runs:
        own = [group for group in groups if not _differences(group[0], run)]
        if own:
            own[0].append(run)
        else:
            groups.append([run])
    firsts = [group[0] for group in groups]
    names = {n for one in firsts for other in firsts for n in _differences(one, other)}
    labels: dict[str, list[Run]] = {}
    for first, members in zip(firsts, groups, strict=True):
        fields = flat(first.config)
        parts = [f"{_short(n)}={fields.get(n)}" for n in sorted(names)[:3]]
        label = ", ".join(parts) or str(fields.get("method.name"))
        labels[label if label not in labels else first.name] = members
    return labels


def _short(field: str) -> str:
    """A field as a legend names it: method.name is the method."""
    return field.removesuffix(".name").rpartition(".")[2]


def _differences(one: Run, other: Run) -> set[str]:
    first, second = flat(one.config), flat(other.config)
    common = {n for n in first.keys() & second.keys() if n.split(".")[0] not in _SEEDS}
    return {name for name in common if first[name] != second[name]}


def before_after(run: Run) -> list[tuple[str, Line | None, Line | None, Line | None]]:
    """(data set, result before, result after, paired difference) of each test set."""
    last = f"{run.config['steps']:06d}"
    sets = {
        name.rpartition("_step_")[0] for name in run.evaluations if "_step_" in name
    }
    return [
        (
            name,
            run.evaluations.get(f"{name}_step_000000"),
            run.evaluations.get(f"{name}_step_{last}"),
            run.evaluations.get(f"{name}_difference"),
        )
        for name in sorted(sets)
    ]


def last_evaluations(run: Run) -> dict[str, Path]:
    """The file of a run's newest evaluation of each test set, by the set's name."""
    found: dict[str, Path] = {}
    for stem in sorted(run.evaluations):  # of one set, steps in order
        name, _, step = stem.rpartition("_step_")
        if name and re.fullmatch(r"[0-9]{6,12}", step):
            found[name] = run.path / "eval" / f"{stem}.json"
    return found


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(file for file in folder.glob(pattern) if file.is_file())


def _metrics(path: Path) -> list[Line]:
    lines = list(read_lines(path))
    for place, line in enumerate(lines, 1):
        if type(line.get("step")) is not int:
            raise UserError(f"{path}: its object {place} has no step: remove that line")
    return lines


def _evaluation(file: Path) -> dict[str, Any]:
    """A result without its records. Raises UserError where its tables are none."""
    found = {k: v for k, v in read_object(file).items() if k != "records"}
    if "_step_" not in file.stem and not file.stem.endswith("_difference"):
        return found  # is not shown
    found = {"by_level": {}, **found}
    for name in ("pass@k", "by_level"):
        table = found.get(name)
        rows = table.values() if isinstance(table, dict) else [None]
        if not all(isinstance(row, dict) and _numbers(row) for row in rows):
            raise UserError(f"{file} is damaged: its {name} is no table of numbers")
    return found


def _numbers(row: Mapping[str, Any]) -> bool:
    return all(value is None or number(value) is not None for value in row.values())


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A nested config as `section.field` -> value."""
    return dict(_flat(config))
