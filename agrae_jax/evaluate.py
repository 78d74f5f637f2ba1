"""Evaluates a checkpoint: `python -m agrae_jax.evaluate --workdir=RUN [--step=N]`.

Restores parameters only, straight onto the mesh; template, sampling profile and
grader are those of the run. Any field can be overridden: `--config.eval.samples=64`.
"""

from __future__ import annotations

from typing import Any

import jax

from agrae_jax import build, compilation_cache, run_directory
from agrae_jax import config as config_door
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.config import Flag
from agrae_jax.console import Console
from agrae_jax.errors import UserError
from agrae_jax.evaluator import Evaluator
from agrae_jax.grader import Grader

FLAGS = {
    "step": Flag(int, -1, "checkpoint to evaluate; default the newest"),
    "name": Flag(str, "", "file name of the result; default the data set's"),
}


def main(argv: list[str]) -> int:
    """Restores, samples, grades and writes eval/<dataset>.json."""
    parsed = config_door.parse(argv, extra_flags=FLAGS, from_run=True)
    config: Any = parsed.config
    if "/" in parsed.flags["name"] or "_step_" in parsed.flags["name"]:
        raise UserError(
            f"--name={parsed.flags['name']} must be a plain file name, and not one of"
            " the run's own (.._step_..)"
        )
    console = Console(quiet=jax.process_index() > 0)
    run = run_directory.open_run(parsed.workdir)
    checkpoints = Checkpoints(run.checkpoints, keep=None, say=console.warn)
    step = parsed.flags["step"]
    if step == -1:
        latest = checkpoints.latest()
        if latest is None:
            raise UserError(f"{run.path} holds no checkpoint yet: train it first")
        step = latest
    c = config.eval
    console.say(
        f"Evaluating step {step} of {run.path} on {c.problems or 'all'} problems of"
        f" {config.data.test} x {c.samples} samples"
    )
    compilation_cache.enable()
    mesh = build.build_mesh(config)
    with jax.set_mesh(mesh), Grader(config, run, record=False) as grader:
        model = build.build_model(config, mesh, weights=False)
        params, _ = checkpoints.restore_params(step, model.params)
        evaluator = Evaluator(config, model, run, console, grader.grade)
        name = parsed.flags["name"] or evaluator.name
        result = evaluator.run(params, step=step, name=name, again=True)
        evaluator.print_result(result)
    console.say(f"written to {run.eval / f'{name}.json'}")
    return 0


if __name__ == "__main__":
    config_door.main(main)
