"""Post-trains a policy: `python -m agrae_jax.train --config=configs/quickstart.py`.

Read this file, then `step.py`, `rl/loss.py` and `methods/a_grae.py`.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import jax

from agrae_jax import build, compilation_cache, run_directory
from agrae_jax import config as config_door
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.console import Console
from agrae_jax.data.batches import Stream
from agrae_jax.evaluator import Evaluator
from agrae_jax.grader import Grader
from agrae_jax.grading import ahead, remembering
from agrae_jax.metrics import JsonlWriter, finalize
from agrae_jax.reporting import (
    Timer,
    announce,
    check_finite,
    check_ungradable,
    report_step,
    rollout_rows,
)
from agrae_jax.step import rlvr_step


def main(argv: list[str]) -> int:
    """Parses the command line and trains."""
    parsed = config_door.parse(argv)
    for note in parsed.notes:
        print(note, flush=True)
    train(parsed.config, parsed.workdir)
    return 0


def train(config: Any, workdir: str | Path) -> None:
    """Runs (or resumes) the training that `config` describes, in `workdir`."""
    started = time.monotonic()
    console = Console(quiet=jax.process_index() > 0)
    run = run_directory.claim(workdir, config.to_dict())
    announce(console, config, run)
    compilation_cache.enable()

    mesh = build.build_mesh(config)
    checkpoints = Checkpoints(
        run.checkpoints, keep=config.checkpoint.keep, say=console.warn
    )
    with jax.set_mesh(mesh), Grader(config, run) as grader:
        model = build.build_model(config, mesh)
        method = build.build_method(config)
        optimizer = build.build_optimizer(config, method)
        encoded, dropped = build.encode_problems(
            config, build.build_problems(config, "train"), model
        )
        if dropped:
            console.warn(
                f"{dropped} prompts longer than data.max_prompt_tokens left out"
            )
        stream = Stream(encoded, seed=config.seed, batch=config.rollout.prompts)
        state, shardings = build.build_state(model, method, optimizer)
        completions = config.rollout.prompts * config.rollout.samples
        decode = remembering(model.tokenizer.decode, completions)
        answers = {item.problem.id: item.problem.answer for item in encoded}
        fns = build.build_step(
            config,
            model,
            method,
            optimizer,
            shardings,
            grader.grade_rollout,
            decode=decode,
            on_wave=partial(
                ahead, answers=answers, decode=decode, submit=grader.submit
            ),
        )
        evaluator = Evaluator(config, model, run, console, grader.grade)
        ref_params = build.reference_params(model, method)

        restored = checkpoints.restore_latest(build.abstract(state))
        if restored is not None:
            first, state, _ = restored
            run.cut_back(first)
            console.say(f"resumed at step {first} of {config.steps}")
        else:
            first = 0
            run.cut_back(0)
        every = config.eval.every
        if config.eval.before if first == 0 else every and first % every == 0:
            evaluator.run(state.params, step=first)  # read, if it is there already

        writer = JsonlWriter(run.metrics)
        with console.training(config.steps, done=first) as progress:
            for step in range(first, config.steps):
                timer = Timer()
                batch = stream.batch(step)
                state, metrics, seen = rlvr_step(
                    state,
                    batch.prompts,
                    batch.answers,
                    fns=fns,
                    ref_params=ref_params,
                    on_phase=timer.start,
                )
                values = finalize(jax.device_get(metrics))
                timer.stop()
                values, summary = report_step(values, batch, seen, timer)
                spent = timer.seconds["verify"]
                values |= grader.end_step(step + 1, batch, seen, decode, spent)
                writer.write(step + 1, values)
                rollouts_every = config.log.rollouts_every
                if rollouts_every and (step + 1) % rollouts_every == 0:
                    rows = rollout_rows(batch, seen, decode)
                    run.write_rollouts(step + 1, rows)
                check_finite(values, step + 1)
                check_ungradable(values, step + 1, config.verify.max_ungradable)
                done = step + 1 == config.steps
                if done or (step + 1) % config.checkpoint.every == 0:
                    # For the reader of a checkpoint: the stream follows from the step.
                    epoch, index = stream.position(step + 1)
                    cursor = {"epoch": epoch, "index": index, "seed": config.seed}
                    checkpoints.save(step + 1, state, {"cursor": cursor})
                progress.advance(summary)
                if every and (step + 1) % every == 0:
                    evaluator.run(state.params, step=step + 1)
        writer.close()
        checkpoints.wait()
        if config.eval.after:
            evaluator.run(state.params, step=config.steps)
        evaluator.print_comparison()
        checkpoints.close()
        run.mark(step=config.steps, finished=True)
    console.say(
        f"done in {time.monotonic() - started:.0f} s; everything is in {run.path}"
    )


if __name__ == "__main__":
    config_door.main(main)
