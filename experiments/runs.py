"""What an experiment is made of: runs, the two scales, and the papers' cells.

An experiment is a file of this folder, named after a paper's table or figure. One that
trains holds RUNS (the first is the baseline of every comparison), EXPECTED (rows of
`expected/*.csv`) and NOTES; one that only evaluates formulas holds `series()`.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
from pathlib import Path
from types import ModuleType

from agrae_jax.errors import UserError

FOLDER = Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Run:
    """One line of a table: a method, and the overrides that make it."""

    label: str  # as the paper's cells call it
    overrides: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Scale:
    """Where runs are made: a config, and what all runs share."""

    config: str
    seeds: tuple[int, ...]
    overrides: tuple[str, ...] = ()


# Each method keeps its own clip and reduction: the quickstart's are DAPO's.
OWN_LOSS = tuple(
    f"--config.loss.{name}=none" for name in ("clip_low", "clip_high", "reduction")
)

# Dr. GRPO is its reduction, which the recipes on pods set for all others.
OWN_REDUCTION = "--config.loss.reduction=none"

SCALES = {
    # A-GRAE's recipe on a pod; the model and the data are the user's to name. An
    # experiment on another model has SCALES of its own.
    "paper": Scale("configs/qwen7b.py", seeds=(0, 1, 2, 3)),
    # The quickstart's model on built-in arithmetic: 10 minutes a run on 2 cores.
    "cpu": Scale("configs/quickstart.py", seeds=(0, 1, 2), overrides=OWN_LOSS),
}


def method(label: str, name: str, *also: str, **kwargs: object) -> Run:
    """A run that differs by its method, the method's keywords and overrides `also`."""
    given = [f"--config.method.kwargs.{key}={value}" for key, value in kwargs.items()]
    return Run(label, (f"--config.method.name={name}", *given, *also))


def names() -> list[str]:
    """Every experiment, by its file."""
    return sorted(path.stem for path in FOLDER.glob("*_*.py") if _is_one(path.stem))


def load(name: str) -> ModuleType:
    """The module of an experiment. Raises UserError if there is none."""
    if name not in names():
        raise UserError(f"no experiment {name!r}: choose {', '.join(names())}")
    return importlib.import_module(f"experiments.{name}")


def expected(file: str, *, table: str, methods: tuple[str, ...]) -> list[dict]:
    """Rows of `expected/FILE.csv`: those of a table (by its start) and some methods."""
    with (FOLDER / "expected" / f"{file}.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return [r for r in rows if r["table"].startswith(table) and r["method"] in methods]


def _is_one(stem: str) -> bool:
    return stem.startswith(("agrae_", "asym_"))
