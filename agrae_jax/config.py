"""The one door for configs: a file, command-line overrides and a run's saved config.

    parsed = config.parse(argv)
    parsed.config.rollout.prompts, parsed.workdir

Every mistake becomes one line with the nearest right name (`UserError`, exit code 2),
before a weight is loaded or a program compiled. ml_collections gives the types of the
fields; its flags are not used, because a misspelt one ends in a traceback, an empty
`kwargs` takes no override, and changing a method's name leaves the former method's
arguments behind.
"""

from __future__ import annotations

import dataclasses
import datetime
import errno
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ml_collections.config_dict import ConfigDict, FrozenConfigDict

from agrae_jax import config_docs, config_file, config_rules, config_text, methods
from agrae_jax.data import datasets
from agrae_jax.errors import CONFIG, INTERRUPTED, PIPE_CLOSED, Preempted, UserError
from agrae_jax.verify import verifiers


def _method_arguments(name: str) -> dict[str, Any]:
    if name not in methods.names():
        hint = config_text.near(name, methods.names())
        raise UserError(f"config.method.name={name} is not a method; {hint}")
    return methods.signature_defaults(name)


def _random_sizes(path: str) -> dict[str, Any]:
    """Sizes that a random model may be given; the vocabulary is the tokenizer's."""
    if not path.startswith("random:"):
        return {}
    from agrae_jax import models  # brings flax, which a real model's flags can spare

    return {name: size for name, size in models.TINY.items() if name != "vocab_size"}


# Sections whose fields are the keywords of what another field names.
_ARGUMENTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "method.kwargs": _method_arguments,
    "verify.kwargs": verifiers.arguments,
    "data.train_kwargs": datasets.signature_defaults,
    "data.test_kwargs": datasets.signature_defaults,
    "model.kwargs": _random_sizes,
}
_SEEDED = {
    section: (config_docs.OWNERS[section], found)
    for section, found in _ARGUMENTS.items()
}


class Flag(NamedTuple):
    """A flag beside --config and --workdir: its type, default and help."""

    kind: type
    default: Any
    help: str


@dataclasses.dataclass(frozen=True)
class Parsed:
    """What a command line says. `notes` are lines worth printing at the start."""

    config: FrozenConfigDict
    workdir: Path
    flags: Mapping[str, Any]
    notes: tuple[str, ...]


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


def main(run: Callable[[list[str]], int | None]) -> NoReturn:
    """Runs an entry point on the command line and exits with its code.

    `UserError` is printed as one line. The codes are listed in `errors.py`.
    """
    try:
        code = run(sys.argv[1:]) or 0
        sys.stdout.flush()  # here, where a reader that left can still be caught
        sys.exit(code)
    except Preempted as error:
        print(f"stopped: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        if error.errno not in _DISK:
            raise
        print(
            f"error: cannot use {error.filename or 'a file'}: {error.strerror}; make"
            " room or mend the rights, then run the same command again",
            file=sys.stderr,
        )
        sys.exit(CONFIG)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def parse(
    argv: Sequence[str],
    *,
    extra_flags: Mapping[str, Flag] | None = None,
    from_run: bool = False,
) -> Parsed:
    """Reads `--config=FILE --workdir=DIR --config.a.b=value ..`.

    With `from_run` and no --config, the config is the one that the run in --workdir
    saved. `--help` prints every field, with its value so far, and exits. Raises
    `UserError`.
    """
    try:
        return _parse(argv, dict(extra_flags or {}), from_run)
    except UserError as error:
        message = config_text.shortened(str(error))
        raise UserError(message, exit_code=error.exit_code) from None


def _parse(argv: Sequence[str], extra: dict[str, Flag], from_run: bool) -> Parsed:
    given = config_text.split(argv)
    wants_help = any(name == "help" for name, _ in given)
    flags = {name: flag.default for name, flag in extra.items()}
    source = workdir = None
    overrides: list[tuple[str, str | None]] = []
    for name, value in given:
        if name == "config":
            source = config_text.convert(value, str, name)
        elif name == "workdir":
            workdir = config_text.convert(value, str, name)
            if not workdir.strip():
                raise UserError("--workdir is empty: give a directory, or leave it out")
        elif name in extra:
            flags[name] = config_text.convert(value, extra[name].kind, f"--{name}")
        elif name.startswith("config."):
            overrides.append((name.removeprefix("config."), value))
        elif name != "help":
            hint = config_text.near(name, ["config", "workdir", *extra, "help"], "--")
            raise UserError(f"unknown flag --{name}; {hint}")
    if source:
        config, label = load_file(source), source
    elif from_run and workdir:
        config, label = load_run(workdir), f"{workdir}/config.json"
    elif wants_help:
        config, label = load_file(str(config_docs.BASE)), "configs/base.py"
    else:
        run = " or --workdir=RUN" if from_run else ""
        raise UserError(
            f"give --config=FILE{run}, for example --config=configs/smoke.py"
        )
    notes = _apply(config, overrides, label)
    if wants_help:
        print(config_docs.help_text(extra, config.to_dict(), label, from_run=from_run))
        raise SystemExit(0)
    config_rules.validate(config)
    try:
        frozen = FrozenConfigDict(config)
    except ValueError as error:
        raise UserError(
            f"{label}: a field holds a dict within a list: {error}"
        ) from None
    return Parsed(frozen, resolve_workdir(label, workdir), flags, tuple(notes))


def load_file(path: str) -> ConfigDict:
    """The config of a Python file, all its fields known to `base.py`."""
    config = _execute(path)
    config_text.check_fields(config.to_dict(), _base().to_dict(), path, _SEEDED)
    return config


def load_run(workdir: str | Path) -> ConfigDict:
    """The resolved config that a run saved in its directory."""
    path = Path(workdir) / "config.json"
    if not path.is_file():
        raise UserError(f"{workdir} is not a run: it has no config.json")
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    return from_json(text, where=str(path))


def to_json(config: ConfigDict) -> str:
    """The resolved config as indented JSON; `from_json` is its inverse."""
    return json.dumps(config.to_dict(), indent=2) + "\n"


def from_json(text: str, *, where: str = "config.json") -> ConfigDict:
    """The config of a JSON text; fields it lacks are those of `base.py`."""
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(saved, dict):
        raise UserError(f"{where}: not a JSON object")
    config = _base()
    config_text.check_fields(saved, config.to_dict(), where, _SEEDED, complete=False)
    for path in _SEEDED:
        section, last = path.split(".")
        _fill(config, path, saved.get(section, {}).get(last, {}))
    for path, value in config_text.leaves(saved):
        if value is not None and not path.startswith(tuple(f"{p}." for p in _SEEDED)):
            _assign(config, path, value, where)
    return config


def resolve_workdir(label: str, workdir: str | None) -> Path:
    """The run directory: as given, else `runs/<config>-<time>`."""
    if workdir:
        return Path(workdir)
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{Path(label.partition(':')[0]).stem}-{now}"


def _apply(
    config: ConfigDict, overrides: list[tuple[str, str | None]], label: str
) -> list[str]:
    """Sets the overrides: first the names that decide which fields there are."""
    owners = [owner for owner, _ in _SEEDED.values()]
    former = {owner: _get(config, owner) for owner in owners}
    for path, value in overrides:
        if path in owners:
            _set(config, path, value)
    notes = []
    for section, (owner, defaults) in _SEEDED.items():
        named, kwargs = _get(config, owner), _get(config, section).to_dict()
        if named != former[owner] and kwargs:
            notes.append(
                f"config.{owner} is {named} now: the {section} that {label} has for"
                f" {former[owner]} are dropped"
            )
            kwargs = {}
        allowed = defaults(named)
        if section == "model.kwargs":  # a file may set any field of a config.json
            allowed = {**allowed, **kwargs}
        _fill(config, section, allowed)
        for key, value in kwargs.items():
            if key not in allowed:
                hint = config_text.near(key, allowed, f"{section}.")
                raise UserError(f"{label}: {named} takes no {section}.{key}; {hint}")
            _assign(config, f"{section}.{key}", value, label)
    for path, value in overrides:
        if path not in owners:
            _set(config, path, value)
    return notes


def _set(config: ConfigDict, path: str, text: str | None) -> None:
    """One override from the command line, with the type of the field."""
    if not _has(config, path):
        raise config_text.unknown_field(path, config.to_dict())
    section, last = _parent(config, path)
    if isinstance(section[last], ConfigDict):
        inside = ", ".join(section[last]) or "none here"
        raise UserError(f"config.{path} is a section; set one of its fields: {inside}")
    kind = section.get_type(last)
    # What base.py leaves open may be left open again.
    initially = dict(config_text.leaves(_base().to_dict()))
    optional = section[last] is None or initially.get(path, section[last]) is None
    section[last] = config_text.convert(text, kind, f"config.{path}", optional=optional)


def _assign(config: ConfigDict, path: str, value: Any, label: str) -> None:
    """One value from a file, of the type that the field has."""
    section, last = _parent(config, path)
    try:
        section[last] = _tuples(value)
    except TypeError:
        kind = section.get_type(last).__name__
        raise UserError(f"{label}: {path} takes {kind}, not {value!r}") from None


def _fill(config: ConfigDict, path: str, fields: Mapping[str, Any]) -> None:
    """Puts a section of these fields in the place of the one there."""
    section, last = _parent(config, path)
    values = {key: _tuples(value) for key, value in fields.items()}
    section[last] = ConfigDict(values)


def _tuples(value: Any) -> Any:
    """JSON knows no tuples; configs hold no lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _parent(config: ConfigDict, path: str) -> tuple[Any, str]:
    parent, _, last = path.rpartition(".")
    return (_get(config, parent) if parent else config), last


def _get(tree: Any, path: str) -> Any:
    for name in path.split("."):
        tree = tree[name]
    return tree


def _has(config: ConfigDict, path: str) -> bool:
    tree: Any = config
    for name in path.split("."):
        if not isinstance(tree, ConfigDict) or name not in tree:
            return False
        tree = tree[name]
    return True


def _execute(path: str) -> ConfigDict:
    config = config_file.execute(path)
    if not isinstance(config, ConfigDict):
        raise UserError(f"{path}: get_config() must return a ConfigDict")
    return config


def _base() -> ConfigDict:
    return _execute(str(config_docs.BASE))
