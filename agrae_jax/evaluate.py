"""Evaluates a run's checkpoint or a model alone, on one or several data sets.

    python -m agrae_jax.evaluate --workdir=RUN [--step=N|best] [--dataset=NAME,..]
    python -m agrae_jax.evaluate --model=DIR --out=DIR --dataset=jsonl:FILE

Of a run, parameters only are restored, straight onto the mesh; template, sampling
profile and grader are those of the run, or of --config. Any field can be overridden:
`--config.eval.samples=64`, or short `--samples=64`.
"""

from __future__ import annotations

import json
from typing import Any

import jax

from agrae_jax import (
    build,
    compilation_cache,
    distributed,
    eval_tables,
    evaluate_args,
    memory,
    run_directory,
)
from agrae_jax import config as config_door
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.console import Console
from agrae_jax.data import benchmarks
from agrae_jax.data.batches import Encoded
from agrae_jax.errors import UserError
from agrae_jax.evaluate_args import Request
from agrae_jax.evaluation import others
from agrae_jax.evaluator import dataset_slug
from agrae_jax.grader import Grader
from agrae_jax.reporting import say_prompt
from agrae_jax.run_directory import RunDirectory
from agrae_jax.set_evaluator import SetEvaluator


def main(argv: list[str]) -> int:
    """Restores, samples, grades and writes eval/; prints a table of all data sets."""
    distributed.start()
    request = evaluate_args.parse(argv)
    console = Console(quiet=jax.process_index() > 0)
    compilation_cache.enable()
    first: Any = next(iter(request.configs.values()))
    directory, checkpoints, step = _source(request, console)
    flags = request.flags
    beside = _Beside(request)
    mesh = build.build_mesh(first)
    distributed.check_rows(mesh)
    fields = {name: c.to_dict() for name, c in request.configs.items()}
    asked = json.dumps([fields, request.limit, request.flags, str(request.place)])
    distributed.check_alike({"command": asked})
    with (
        jax.set_mesh(mesh),
        memory.guarded(first, mesh, phase=""),
        console.log_warnings(),
        Grader(first, directory, record=False) as grader,
    ):
        model = build.build_model(first, mesh, weights=checkpoints is None)
        # All is checked now: nothing must be found after others were sampled.
        sets: dict[str, tuple[list[Encoded], list[SetEvaluator]]] = {}
        for name, config in request.configs.items():
            encoded = _encode(config, request.limit, model, console)
            sets[name] = (
                encoded,
                [
                    SetEvaluator(config, model, console, grader.grade, run=run)
                    for run in range(1, flags["runs"] + 1)
                ],
            )
            settings = sets[name][1][0].settings(config.data.test, encoded)
            for text in beside.check(name, encoded, settings):
                console.warn(text)
            for run, evaluator in enumerate(sets[name][1], start=1):
                evaluator.refuse_other(
                    encoded,
                    dataset=config.data.test,
                    step=step,
                    directory=directory,
                    name=_name(name, step, run),
                )
        params = model.params
        if checkpoints is not None:
            assert step is not None
            params, _ = checkpoints.restore_params(step, model.params)
        results: dict[str, list[dict[str, Any]]] = {}
        for name, (encoded, evaluators) in sets.items():
            config: Any = request.configs[name]
            c = config.eval
            console.say(
                f"Evaluating {config.model.path if step is None else f'step {step}'} on"
                f" {len(encoded)} problems of {config.data.test} x {c.samples} samples"
            )
            _say_runs(console, config.data.test, flags)
            path = directory.eval / f"{_name(name, step)}.prompt.txt"
            if jax.process_index() == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
                say_prompt(console, path, model, encoded)
            results[name] = [
                evaluator.run(
                    params,
                    encoded,
                    dataset=config.data.test,
                    step=step,
                    directory=directory,
                    name=_name(name, step, run),
                )
                for run, evaluator in enumerate(evaluators, start=1)
            ]
    if jax.process_index() > 0:
        return 0  # the first one writes and prints
    text = eval_tables.print_results(console, results)
    for name, found in results.items():
        if flags["compare"]:
            here = {str(directory.path): found, **beside.found["also", name]}
            text += eval_tables.print_comparison(
                console,
                directory,
                _name(name, step),
                there=beside.found["compare", name],
                here=here,
            )
    where = (directory.eval / _name("", step)).absolute()
    run_directory.write_text(where / "table.txt", text)
    console.say(f"written to {where}")
    return 0


def _source(
    request: Request, console: Console
) -> tuple[RunDirectory, Checkpoints | None, int | None]:
    """Where results go, and for a run the checkpoints and the step to take."""
    if request.workdir is None:
        try:
            (request.place / "eval").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot write to --out={request.place}: {error.strerror}"
            ) from error
        return RunDirectory(request.place), None, None
    directory = run_directory.open_run(request.workdir)
    which = request.flags["step"]
    folder = directory.path / "best" if which == "best" else directory.checkpoints
    if which == "best" and not folder.is_dir():
        raise UserError(f"{directory.path} keeps no best model: set checkpoint.best")
    checkpoints = Checkpoints(folder, keep=None, say=console.warn)
    step = int(which) if which.isdigit() else checkpoints.latest()
    if step is None:
        raise UserError(f"{directory.path} holds no checkpoint yet: train it first")
    return directory, checkpoints, step


class _Beside:
    """Results of other runs, by ("compare" or "also", data set), then by run."""

    def __init__(self, request: Request):
        self._places = {name: request.flags[name] for name in ("compare", "also")}
        self.found: dict[tuple[str, str], dict[str, list[others.Result]]] = {}
        for name, config in request.configs.items():
            known = list(dict.fromkeys([name, dataset_slug(config.data.test)]))
            for flag, places in self._places.items():
                found = {p: others.find(f"--{flag}", p, known) for p in places}
                self.found[flag, name] = found

    def check(
        self, name: str, encoded: list[Encoded], settings: dict[str, Any]
    ) -> list[str]:
        """Where they were made otherwise; raises UserError for other problems."""
        asked = [(item.problem.id, item.problem.answer) for item in encoded]
        told = []
        for flag in self._places:
            for place, results in self.found[flag, name].items():
                for result in results:
                    differs = others.check_alike(place, result, asked, settings)
                    if differs:
                        told.append(f"{name} of {place} was made otherwise: {differs}")
        return list(dict.fromkeys(told))


def _name(name: str, step: int | None, run: int = 1) -> str:
    """Where a result lies in eval/: those of two steps or runs do not meet."""
    again = f"_run_{run}" if run > 1 else ""
    return (name if step is None else f"step_{step:06d}/{name}") + again


def _say_runs(console: Console, dataset: str, flags: dict[str, Any]) -> None:
    """A published cell may be the mean of many runs."""
    if flags["protocol"]:
        runs = benchmarks.protocol(dataset, flags["protocol"]).runs
        if runs and runs != flags["runs"]:
            console.say(f"The paper's cells are means of {runs} runs: --runs={runs}")


def _encode(
    config: Any, limit: int, model: build.Model, console: Console
) -> list[Encoded]:
    problems = build.build_problems(config, "test")
    problems = problems[:limit] if limit else problems
    encoded, dropped = build.encode_problems(config, problems, model)
    if dropped:
        console.warn(
            f"{config.data.test}: {dropped} prompts longer than data.max_prompt_tokens"
            " left out"
        )
    return encoded


if __name__ == "__main__":
    config_door.main(main)
