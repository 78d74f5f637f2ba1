"""Command-line text to names and values, and the nearest right word for a wrong one."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agrae_jax.errors import UserError

_LONG = 80  # characters of a value that a message shows
# What Python's own parser raises: the last two by deep nesting.
_UNREAD = (SyntaxError, RecursionError, MemoryError)
_WANTED: dict[type, str] = {
    bool: "true or false",
    tuple: "a tuple such as (1,2)",
    str: "text in UTF-8",
}


def split(argv: Sequence[str]) -> list[tuple[str, str | None]]:
    """`--name=value`, `--name value`, `--name`, `--noconfig.name` as (name, value)."""
    found: list[tuple[str, str | None]] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "-help"):
            word = "--help"
        if not word.startswith("--"):
            raise UserError(f"unexpected {word!r}: flags are written --name=value")
        name, equals, value = word[2:].partition("=")
        if equals:
            found.append((name, value))
        elif name.startswith("noconfig."):
            found.append((name.removeprefix("no"), "false"))
        elif rest and not rest[0].startswith("--"):
            found.append((name, rest.pop(0)))
        else:
            found.append((name, None))
    return found


def convert(text: str | None, kind: type, field: str, *, optional: bool = False) -> Any:
    """The value of a field of type `kind`; None alone stands for a bare boolean flag.

    An `optional` field takes `none` too. Raises `UserError` that names the field.
    """
    if text is None:
        if kind is bool:
            return True
        flag = f"--{field.removeprefix('--')}"
        raise UserError(f"{flag} needs a value: {flag}=..")
    if optional and text.lower() == "none":
        return None
    try:
        if kind is bool:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        if kind is tuple:
            return _tuple(text)
        if kind is float:
            return _finite(text)
        if kind is str:
            text.encode()  # the shell hands over bytes that are no UTF-8, too
            return text
        return int(text) if kind is int else _literal(text)
    except (ValueError, KeyError, TypeError, *_UNREAD):
        wanted = _WANTED.get(kind, f"a value of type {kind.__name__}")
        raise UserError(f"{field} takes {wanted}, not {shown(text)}") from None


def shown(value: Any) -> str:
    """A value as a message has it: of a long one the beginning."""
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}.. ({len(text)} characters)"


def shortened(message: str) -> str:
    """A message in which no word is long enough to hide the rest."""

    def cut(word: re.Match[str]) -> str:
        return f"{word[0][:_LONG]}.. ({len(word[0])} characters)"

    return re.sub(r"\S{200,}", cut, message)


def near(word: str, known: Iterable[str], prefix: str = "") -> str:
    """`did you mean ..?`, or the list of what is known."""
    names = list(known)
    close = closest(word, names)
    if close:
        return f"did you mean {prefix}{close}?"
    return f"known: {', '.join(prefix + name for name in names) or 'none'}"


def closest(word: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The known word nearest to this one, None where none is near.

    Near words of equal likeness are told apart by the edits between them, two letters
    exchanged being one: gpro is grpo, not gspo.
    """
    found = difflib.get_close_matches(word, list(known), n=5, cutoff=cutoff)
    return min(found, key=lambda near_by: _edits(word, near_by), default=None)


def _edits(a: str, b: str) -> int:
    """Insertions, deletions, substitutions and exchanges of neighbours from a to b."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, value) of every field of a nested dict."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def check_fields(
    tree: Mapping[str, Any],
    base: Mapping[str, Any],
    label: str,
    free: Container[str],
    *,
    prefix: str = "",
    complete: bool = True,
) -> None:
    """Raises unless a nested dict has the fields of the base and no other.

    Sections in `free` may hold anything; without `complete`, fields may be missing.
    """
    for name, value in tree.items():
        path = f"{prefix}{name}"
        if name not in base:
            raise UserError(
                f"{label}: unknown field {path}; {near(name, base, prefix)}"
            )
        if isinstance(value, Mapping) != isinstance(base[name], Mapping):
            kind = "a section" if isinstance(base[name], Mapping) else "no section"
            raise UserError(f"{label}: {path} must be {kind}")
        if isinstance(value, Mapping) and path not in free:
            check_fields(
                value, base[name], label, free, prefix=f"{path}.", complete=complete
            )
    missing = [name for name in base if name not in tree]
    if complete and missing:
        raise UserError(
            f"{label}: no field {prefix}{missing[0]}; start from configs/base.py"
        )


def unknown_field(path: str, tree: Mapping[str, Any]) -> UserError:
    """The error for a field that a config lacks, with the nearest one that it has."""
    known = [leaf for leaf, _ in leaves(tree)]
    *parents, last = path.split(".")
    here: list[str] = []
    section: Any = tree
    for name in parents:  # follow the nearest section where the exact one is missing
        inner = [key for key in section if isinstance(section[key], Mapping)]
        match = name if name in inner else closest(name, inner, cutoff=0.6)
        if match is None:
            break
        section, here = section[match], [*here, match]
    depth_ok = len(here) == len(parents)
    name = last if last in section else closest(last, section, cutoff=0.6)
    if depth_ok and name:
        found = [".".join([*here, name])]
    else:  # the same name in another section
        found = [leaf for leaf in known if leaf.split(".")[-1] == last]
    if found:
        hint = f"did you mean {' or '.join(f'config.{leaf}' for leaf in found)}?"
    else:
        inside = ", ".join(section) or "no fields"
        hint = f"{'.'.join(['config', *here])} has {inside}"
    return UserError(f"unknown field config.{path}; {hint}")


def _finite(text: str) -> float:
    value = float(text)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


def _tuple(text: str) -> tuple[Any, ...]:
    """A Python tuple, one value, or words with commas between them.

    Of texts, numbers and tuples of them: sets, dicts and bytes are not JSON.
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, *_UNREAD):
        if text.strip()[:1] in tuple("([{\"'"):
            raise ValueError(text) from None
        words = [word.strip() for word in text.split(",")]
        value = tuple(_literal(word) for word in words if word)
    value = _plain(value)
    return value if isinstance(value, tuple) else (value,)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(value)
    return value


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, *_UNREAD):
        return text
