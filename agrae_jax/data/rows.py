"""A row of any source to a `Problem`: which field is which, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agrae_jax.data.problem import Problem
from agrae_jax.errors import UserError
from agrae_jax.verify.extract import extract

# Names under which sources keep the same thing, in order of preference; a dot goes
# into a struct. The long ones are the layout of verl, which A-GRAE publishes in.
_QUESTION = ("question", "problem", "reward_model.ground_truth.question", "prompt")
_ANSWER = (
    "answer",
    "gold",
    "reward_model.ground_truth.target",
    "reward_model.ground_truth",
)
_SOLUTION = ("solution", "reward_model.ground_truth.solution")
_LEVEL = ("level",)
_SUBJECT = ("subject", "type")
_KEY = ("id", "unique_id", "extra_info.index")


@dataclasses.dataclass(frozen=True)
class Fields:
    """Names of fields where they are not the usual ones; "" = the usual ones."""

    question: str = ""
    answer: str = ""
    level: str = ""
    subject: str = ""


def to_problem(
    row: Mapping[str, Any],
    index: int,
    where: str,
    fields: Fields,
    *,
    from_solution: bool = False,
) -> Problem:
    """One row's problem; `from_solution` prefers the solution's last box as the gold.

    Raises `UserError` that names the row (`where`) if a field is missing or no text.
    """
    question = _text(row, _named(fields.question, _QUESTION), where)
    if not question:
        raise UserError(f"{where}: the question is empty")
    level, _ = _first(row, _named(fields.level, _LEVEL))
    subject, _ = _first(row, _named(fields.subject, _SUBJECT))
    key, _ = _first(row, _KEY)
    problem = Problem(
        id=index,
        question=question,
        answer=_gold(row, where, fields, from_solution=from_solution),
        level="" if level is None else _plain(level, where),
        subject=None if subject is None else _plain(subject, where) or None,
        key="" if key is None else _plain(key, where),
    )
    for name, text in dataclasses.asdict(problem).items():
        if isinstance(text, str) and not _is_unicode(text):
            raise UserError(
                f"{where}: the {name} has half a surrogate pair (\\ud800..): no"
                " tokenizer can read that"
            )
    return problem


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_jsonl(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(file and row number, object) of every line that is not blank."""
    check_regular(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: byte {error.start}") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path} row {number}"
        try:
            row = json.loads(line)
        except ValueError as error:  # also a number of more digits than Python takes
            raise UserError(f"{where}: not JSON: {error}") from None
        except RecursionError:
            raise UserError(f"{where}: nested too deeply to be read") from None
        if not isinstance(row, dict):
            raise UserError(f"{where}: not a JSON object but {type(row).__name__}")
        yield where, row


def check_regular(path: str) -> None:
    """Raises `UserError` for a pipe or device, which would be waited for, or a folder.

    What is not there at all passes: its reader says so.
    """
    try:
        odd = Path(path).exists() and not Path(path).is_file()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if odd:
        raise UserError(f"{path}: is not a regular file")


def _gold(
    row: Mapping[str, Any], where: str, fields: Fields, *, from_solution: bool
) -> str:
    names = _named(fields.answer, _ANSWER)
    solution, _ = _first(row, _SOLUTION)
    if from_solution or _first(row, names)[0] is None:
        boxed = _last_box(_plain(solution, where)) if solution is not None else ""
        if boxed:
            return boxed
    gold = _text(row, names, where)
    # GSM8K as published: a worked solution, then #### and the number.
    _, mark, number = gold.rpartition("####")
    return number.strip().replace(",", "") if mark else gold


def _last_box(solution: str) -> str:
    """The last box alone, as MATH means it: an earlier one may say the same."""
    last = max(solution.rfind("\\boxed"), solution.rfind("\\fbox"))
    found = extract(solution[last:]) if last >= 0 else None
    return found.answer if found is not None and found.kind == "box" else ""


def _named(given: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if given else usual


def _text(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    value, name = _first(row, names)
    if value is None:
        have = ", ".join(map(str, row)) or "nothing"
        wanted = " or ".join(n for n in names if "." not in n)
        raise UserError(f"{where}: no field {wanted or names[0]}; it has {have}")
    if name == "prompt" and not isinstance(value, str | bytes):
        value = _last_user_turn(value, where)
    if isinstance(value, bool) or not isinstance(value, str | bytes | int | float):
        kind = type(value).__name__
        raise UserError(f"{where}: field {name} is a {kind}, not a string")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{where}: field {name} is {value}: no finite number")
    return _plain(value, where).strip()


def _last_user_turn(turns: Any, where: str) -> Any:
    try:
        return [turn["content"] for turn in turns if turn["role"] == "user"][-1]
    except (TypeError, KeyError, IndexError):
        raise UserError(f"{where}: field prompt has no user turn") from None


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Any, str]:
    """The first field that is there and not None, with its name."""
    for name in names:
        value: Any = row
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            return value, name
    return None, ""


def _plain(value: Any, where: str) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 text: byte {error.start}") from None
