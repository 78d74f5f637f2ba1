"""Everything a step needs, built from a config: what train and replay share."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from agrae_jax import build, claiming, distributed, memory
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.data import fingerprint
from agrae_jax.data.batches import Stream
from agrae_jax.errors import DATA, UserError
from agrae_jax.feed import Feed
from agrae_jax.grader import Grader
from agrae_jax.grading import DecodeFn, ahead, remembering
from agrae_jax.run_directory import RunDirectory
from agrae_jax.step import StepFns
from agrae_jax.types import Params, Rollout, TrainState
from agrae_jax.versions import versions


@dataclasses.dataclass(frozen=True)
class Job:
    """A run's parts. `state` is the one before the first step."""

    model: build.Model
    stream: Stream
    feed: Feed
    state: TrainState
    fns: StepFns
    ref_params: Params | None
    decode: DecodeFn
    data: fingerprint.Fingerprint
    memory: memory.Estimate


def build_job(
    config: Any,
    mesh: jax.sharding.Mesh,
    grader: Grader,
    *,
    say: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
) -> Job:
    """Reads the data and the weights and binds the step's functions.

    `say` receives warnings; `check` is called between waves and may raise.
    """
    model = build.build_model(config, mesh)
    method = build.build_method(config)
    optimizer = build.build_optimizer(config, method)
    problems = build.build_problems(config, "train")
    encoded, dropped = build.encode_problems(config, problems, model)
    if dropped:
        say(f"{dropped} prompts longer than data.max_prompt_tokens left out")
    stream = Stream(encoded, seed=config.seed, batch=config.rollout.prompts)
    state, shardings = build.build_state(model, method, optimizer)
    completions = config.rollout.prompts * config.rollout.samples
    decode = remembering(model.tokenizer.decode, completions)
    answers = {item.problem.id: item.problem.answer for item in encoded}
    grade_ahead = functools.partial(
        ahead, answers=answers, decode=decode, submit=grader.submit
    )

    def on_wave(rollout: Rollout) -> None:
        check()
        grade_ahead(rollout)

    fns = build.build_step(
        config,
        model,
        method,
        optimizer,
        shardings,
        grader.grade_rollout,
        decode=decode,
        on_wave=on_wave,
    )
    ref_params = build.reference_params(model, method)
    needs = memory.estimate(
        config, model, state, prompt=stream.length, reference=ref_params is not None
    )
    data = fingerprint.of(encoded)
    feed = Feed(stream, method)
    return Job(model, stream, feed, state, fns, ref_params, decode, data, needs)


def claim_run(workdir: str | Path, config: Any) -> RunDirectory:
    """`claiming.claim`: by process 0 alone, and of a folder below for the others.

    Checkpoints are common to all, logs each process's own.
    """
    fields = config.to_dict()
    if jax.process_index() == 0:
        run = claiming.claim(workdir, fields)
    distributed.meet("the run's directory is there")
    if jax.process_index() > 0:
        run = claiming.claim(distributed.own_directory(workdir), fields)
        run.checkpoints = Path(workdir) / "checkpoints"
    return run


def check_alike(config: Any, job: Job) -> None:
    """Raises UserError unless all processes have one config, code and data."""
    found = versions()
    distributed.check_alike(
        {
            "config": json.dumps(config.to_dict(), sort_keys=True),
            "code": found["code"],
            "packages": found["packages"],
            "data": repr(job.data),
        }
    )


def resume(
    job: Job,
    checkpoints: Checkpoints,
    run: RunDirectory,
    say: Callable[[str], None],
) -> tuple[int, TrainState]:
    """(steps done, state) of the newest whole checkpoint, or (0, the first state).

    The logs are cut back to it. Raises UserError where steps had been saved and no
    checkpoint is left: beginning again would throw the logs away.
    """
    saved = run.status().get("step", 0)
    restored = checkpoints.restore_latest(build.abstract(job.state))
    if restored is None and saved:
        raise UserError(
            f"{run.checkpoints} holds no whole checkpoint, but step {saved} was saved"
            " (status.json): put the checkpoints back, or give a new --workdir. To"
            f" begin again here and lose the logs, remove {run.path / 'status.json'}"
        )
    if restored is None:
        first, state = 0, job.state
    else:
        first, state, _ = restored
        steps = run.config()["steps"]
        if first > steps:
            raise UserError(
                f"{run.checkpoints / str(first)} is beyond the {steps} steps of this"
                " run: it belongs to another one; move it away"
            )
        for leaf in jax.tree.leaves(job.state):
            leaf.delete()  # or the run would hold two of everything
        if first < saved:
            say(f"the checkpoint of step {saved} is gone: going on from step {first}")
            run.mark(step=first, finished=False)
    lacking = run.cut_back(first)
    if lacking:
        say(
            f"{run.metrics} lacks {_some(lacking)} of the {first} steps done (cut or"
            " edited?): they stay lacking; curves will have a gap"
        )
    if gone := run.lacking_rollouts(first):
        say(
            f"{run.rollouts} lacks {_some(gone)} (deleted, or not kept then):"
            " python -m agrae_jax.replay runs such a step again"
        )
    return first, state


def check_data(
    run: RunDirectory, found: dict[str, fingerprint.Fingerprint], *, keep: bool = True
) -> None:
    """Keeps the fingerprints of the data, or raises UserError where they changed."""
    known = run.data()
    for split, now in found.items():
        before = known.get(split)
        changed = before and fingerprint.difference(before, now)
        if changed:
            raise UserError(
                f"data.{split} {changed}: this run was started on other data. Put the"
                " old files back, or give a new --workdir",
                exit_code=DATA,
            )
    if keep and found != known:
        run.write_data(found)


def _some(steps: list[int]) -> str:
    shown = ", ".join(map(str, steps[:5]))
    return f"steps {shown}" + (f" and {len(steps) - 5} more" if len(steps) > 5 else "")
