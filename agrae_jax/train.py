"""Post-trains a policy: `python -m agrae_jax.train --config=configs/quickstart.py`.

Read this file, then `step.py`, `rl/loss.py` and `methods/a_grae.py`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax

from agrae_jax import build, compilation_cache, distributed, memory, report
from agrae_jax import config as config_door
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.console import Console
from agrae_jax.distributed import Watchdog
from agrae_jax.errors import Preempted
from agrae_jax.evaluator import Evaluator
from agrae_jax.feed import take_step
from agrae_jax.grader import Grader
from agrae_jax.job import build_job, check_alike, check_data, claim_run, resume
from agrae_jax.preemption import Notice
from agrae_jax.reporting import Timer, announce, say_prompt
from agrae_jax.step_log import StepLog


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
    distributed.start()
    console = Console(quiet=jax.process_index() > 0)
    mesh = build.build_mesh(config)
    distributed.check_rows(mesh)
    run = claim_run(workdir, config)  # what the devices refuse leaves no run behind
    announce(console, config, run)
    compilation_cache.enable()

    c = config.checkpoint
    checkpoints = Checkpoints(
        run.checkpoints, keep=c.keep, keep_every=c.keep_every, say=console.warn
    )
    notice = Notice(grace_s=c.grace_s, url=c.notice_url, say=console.warn)
    grader = Grader(config, run)
    watchdog = Watchdog(config.mesh.stuck_s if jax.process_count() > 1 else 0)

    def check() -> None:
        watchdog.progress()
        notice.check_together()

    with (
        run,
        notice,
        jax.set_mesh(mesh),
        checkpoints,
        grader,
        watchdog,
        console.log_warnings(),
    ):
        with memory.guarded(config, mesh):
            job = build_job(config, mesh, grader, say=console.warn, check=check)
        train_set = job.stream.encoded
        say_prompt(console, run.path / "prompt.txt", job.model, train_set)
        evaluator = Evaluator(
            config,
            job.model,
            run,
            console,
            grader.grade,
            train=train_set,
            check=check,
        )
        check_alike(config, job)
        check_data(run, {"train": job.data, "test": evaluator.data})
        with memory.guarded(config, mesh):
            done, state = resume(job, checkpoints, run, console.warn)
        if done:
            console.say(f"resumed at step {done} of {config.steps}")
        console.say(job.memory.text())
        log = StepLog(config, run, job, console, grader)
        timer = Timer()

        def save() -> None:
            # The cursor is for readers: the stream follows from the step.
            epoch, index = job.stream.position(done)
            cursor = {"epoch": epoch, "index": index, "seed": config.seed}
            checkpoints.save(done, state, {"cursor": cursor})

        try:
            every = config.eval.every
            if config.eval.before if done == 0 else every and done % every == 0:
                evaluator.run(state.params, step=done)  # read, if it is there already
            with console.training(config.steps, done=done) as progress:
                while done < config.steps:
                    timer = Timer(between=check)
                    state, metrics, seen, batch = take_step(
                        job.feed,
                        state,
                        done,
                        fns=job.fns,
                        ref_params=job.ref_params,
                        on_phase=timer.start,
                    )
                    done += 1
                    shown = log.write(done, batch, metrics, seen, timer)
                    if done == config.steps or done % c.every == 0:
                        save()
                    run.note_saved(checkpoints.committed())
                    progress.advance(shown)
                    if every and done % every == 0:
                        evaluator.run(state.params, step=done)
            checkpoints.wait()
            if config.eval.after:
                evaluator.run(state.params, step=config.steps)
        except Preempted as asked:
            if done > (checkpoints.latest() or 0):
                save()
            checkpoints.wait()
            run.note_saved(done)
            raise Preempted(
                f"{asked} and saved at step {done} of {config.steps}: the same command"
                " resumes it"
            ) from None
        except (jax.errors.JaxRuntimeError, MemoryError) as error:
            job.memory.explain(error, timer.phase)  # raises where it was memory
            raise
        log.close()
        evaluator.print_comparison()
        if jax.process_index() == 0:
            console.say(f"the report is {report.write(run.path)}")
        run.mark(step=config.steps, finished=True)  # last: a kill leaves all to resume
    console.say(
        f"done in {time.monotonic() - started:.0f} s; everything is in {run.path}"
    )


if __name__ == "__main__":
    config_door.main(main)
