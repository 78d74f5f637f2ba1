"""What a report is made of, read from run directories and nothing else."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agrae_jax.errors import UserError

Line = Mapping[str, Any]
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
    evaluations = {
        file.stem: _without_records(_json(file))
        for file in sorted((path / "eval").glob("*.json"))
    }
    prompt = path / "prompt.txt"
    return Run(
        path=path,
        config=_json(path / "config.json"),
        metrics=list(_lines(path / "metrics.jsonl")),
        evaluations=evaluations,
        versions=_json(path / "versions.json", {}),
        status=_json(path / "status.json", {}),
        prompt=prompt.read_text("utf-8") if prompt.is_file() else "",
        faults=sorted(file.name for file in (path / "faults").glob("*.npz")),
        counts={
            file.stem: sum(1 for _ in file.open(encoding="utf-8"))
            for file in sorted((path / "verify").glob("*.jsonl"))
        },
        started_on=_json(path / "data.json", {}),
    )


def read_rollouts(path: Path, *, most: int) -> tuple[dict[int, list[Line]], int]:
    """Completions by step, of at most about `most` in all; and the steps left out.

    Where there are more, steps are taken evenly, the first and the last among them.
    """
    files = sorted((path / "rollouts").glob("step_[0-9]*.jsonl"))
    if not files:
        return {}, 0
    first = list(_lines(files[0]))
    count = max(2, most // max(len(first), 1))
    if len(files) > count:
        chosen = [
            files[round(i * (len(files) - 1) / (count - 1))] for i in range(count)
        ]
    else:
        chosen = files
    steps = {
        int(file.stem.removeprefix("step_")): list(_lines(file)) for file in chosen
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
        parts = [f"{n.rpartition('.')[2]}={fields.get(n)}" for n in sorted(names)[:3]]
        label = ", ".join(parts) or str(fields.get("method.name"))
        labels[label if label not in labels else first.name] = members
    return labels


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


def _without_records(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "records"}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A nested config as `section.field` -> value."""
    return dict(_flat(config))


def _json(path: Path, default: Any = None) -> Any:
    if default is not None and not path.is_file():
        return default
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} should hold a JSON object")
    return value


def _lines(path: Path) -> Iterator[Line]:
    if not path.is_file():
        return
    lines = path.read_text("utf-8", errors="replace").split("\n")
    for number, text in enumerate(lines, 1):
        if not text:
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            if number >= len(lines) - 1:
                return  # a run that goes on may be writing its last line now
            raise UserError(f"{path}:{number} is not JSON: {error}") from None
        yield value
