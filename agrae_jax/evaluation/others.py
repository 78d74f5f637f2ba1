"""Results of other runs to compare with: found, read and checked before sampling."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.evaluation.summary import Record, pass_table

Result = Mapping[str, Any]
Question = tuple[int, str]  # id and gold
# Settings that a fair comparison shares; others (dtype, seed, n) may well differ.
_ALIKE = ("temperature", "top_k", "top_p", "max_new_tokens", "template", "system")
_ALIKE += ("examples", "verifier")


def places(text: str) -> list[str]:
    """`A,B` as [A, B]; a path that holds a comma may be given whole."""
    try:
        whole = Path(text).exists()
    except (OSError, ValueError):
        whole = False
    parts = (part.strip() for part in text.split(","))
    return [text] if whole else [part for part in parts if part]


def find(flag: str, place: str, names: Sequence[str]) -> list[Result]:
    """The results of a data set in a run or --out folder, all its runs.

    `place` may be a result file, too. Of several `names` the first that is there is
    taken, of several steps the last; what a run evaluated while it trained counts where
    `evaluate` was not called. Raises UserError, which names `flag`, where there is none
    or one is damaged.
    """
    try:
        files = next(filter(None, (_files(Path(place), name) for name in names)), [])
    except (OSError, ValueError) as error:
        raise UserError(f"{flag}={place} cannot be read: {error}") from None
    if not files:
        raise UserError(
            f"{flag}={place} has no evaluation of {' or '.join(names)}: evaluate it"
            " there first"
        )
    return [read(file) for file in files]


def read(path: Path) -> Result:
    """A result, with records that numbers can be made of. Raises UserError."""
    try:
        found = json.loads(path.read_text("utf-8"))
        if not found["records"]:
            raise ValueError("no records")
        if not questions(found["records"]) or not pass_table(found["records"]):
            raise ValueError("nothing in it was graded")
        return found
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise UserError(f"{path} is no evaluation ({said})") from None


def questions(records: Sequence[Record]) -> list[Question]:
    """Which question each record is of."""
    return [(record["id"], record.get("gold", "")) for record in records]


def check_alike(
    place: str, found: Result, asked: Sequence[Question], settings: Mapping[str, Any]
) -> str:
    """In which settings a result differs from these, in words; "" in none that counts.

    Raises UserError where it is of other problems than `asked`.
    """
    there = questions(found["records"])
    if there != list(asked):
        first = next((a for a, b in zip(asked, there, strict=False) if a != b), None)
        what = f"{len(asked)} problems, not {len(there)}"
        if len(asked) == len(there) and first is not None:
            what = f"another problem {first[0]}"
        raise UserError(
            f"{place} was not evaluated on the same problems: there are {what}, here"
        )
    held = found.get("settings")
    if not isinstance(held, Mapping):
        return ""
    return "; ".join(
        f"{key}={held[key]} there, {settings.get(key)} here"
        for key in _ALIKE
        if key in held and held[key] != settings.get(key)
    )


def pooled(runs: Sequence[Sequence[Record]]) -> list[Record]:
    """Several evaluations of one policy as one: the samples of a question together."""
    return [
        {
            "id": rows[0]["id"],
            "gold": rows[0].get("gold", ""),
            "valid": sum(row["valid"] for row in rows),
            "correct": sum(row["correct"] for row in rows),
        }
        for rows in zip(*runs, strict=True)
    ]


def _files(path: Path, name: str) -> list[Path]:
    if path.is_file():
        return [path]
    steps = sorted(path.glob("eval/step_*"), key=_number, reverse=True)
    for folder in [*steps, path / "eval"]:
        found = [folder / f"{name}.json"]
        while (more := folder / f"{name}_run_{len(found) + 1}.json").is_file():
            found.append(more)
        if found[0].is_file():
            return found
    return sorted(path.glob(f"eval/{name}_step_*.json"), key=_number)[-1:]


def _number(path: Path) -> int:
    """The step at the end of a name."""
    digits = re.search(r"(\d+)(\.json)?$", path.name, re.ASCII)
    return int(digits[1]) if digits else -1
