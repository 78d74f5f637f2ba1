"""Runs one step again: `python -m agrae_jax.replay --workdir=RUN --step=N`.

Starts from the newest whole checkpoint before step N (or from the first weights), runs
the steps up to N and compares with what the run logged: every number but the times,
and every completion. The run directory is only read, so it may still be training.

Exit code 0: the step is reproduced. 1: it is not, and the lines say in what. On the
mesh and the versions of the run any difference is a bug.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jax

from agrae_jax import build, compilation_cache, memory, run_directory
from agrae_jax import config as config_door
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.config import Flag
from agrae_jax.console import Console
from agrae_jax.errors import UserError
from agrae_jax.feed import take_step
from agrae_jax.grader import Grader
from agrae_jax.job import Job, build_job, check_data
from agrae_jax.metrics import finalize, without_times
from agrae_jax.reporting import Timer, report_step, rollout_rows
from agrae_jax.run_directory import RunDirectory
from agrae_jax.types import TrainState

FLAGS = {"step": Flag(int, -1, "the step to run again, from 1")}
_SHOWN = 10  # differences named one by one
# Counted by the grader over a run, not made by the step.
_OF_THE_LOG = ("deadline_hits", "audit_", "epoch")  # not made by a step


def main(argv: list[str]) -> int:
    """Replays and compares; returns 1 where something differs."""
    parsed = config_door.parse(argv, extra_flags=FLAGS, from_run=True)
    config: Any = parsed.config
    wanted = parsed.flags["step"]
    console = Console(quiet=jax.process_index() > 0)
    run = run_directory.open_run(parsed.workdir)
    logged = _logged(run, wanted)
    compilation_cache.enable()
    mesh = build.build_mesh(config)
    with (
        jax.set_mesh(mesh),
        memory.guarded(config, mesh),
        Grader(config, run, record=False) as grader,
        Checkpoints(run.checkpoints, keep=None, say=console.warn) as checkpoints,
    ):
        job = build_job(config, mesh, grader, say=console.warn)
        check_data(run, {"train": job.data}, keep=False)
        first, state = _before(wanted, job, checkpoints)
        console.say(f"Replaying step {wanted} of {run.path} from checkpoint {first}")
        for step in range(first, wanted):
            timer = Timer()
            state, metrics, seen, batch = take_step(
                job.feed,
                state,
                step,
                fns=job.fns,
                ref_params=job.ref_params,
                on_phase=timer.start,
            )
            timer.stop()
            console.say(f"step {step + 1} is done again")
        values, _ = report_step(finalize(jax.device_get(metrics)), batch, seen, timer)
        found = differences(logged, values)
        path = run.rollout_path(wanted)
        rows = [
            json.loads(json.dumps(r))
            for r in rollout_rows(batch, seen, job.decode, tokens=config.log.tokens)
        ]
        kept = _rows(run, wanted)
        if kept is not None:
            found += row_differences(kept, rows)
    compared = f"{len(_comparable(logged))} numbers"
    compared += f", {len(rows)} completions" if kept is not None else ""
    if found:
        for line in found[:_SHOWN]:
            console.say(line)
        console.say(f"step {wanted} differs in {len(found)} places of {compared}")
        return 1
    console.say(f"step {wanted} is reproduced: {compared}, 0 differences")
    if kept is None:
        console.say(f"(its completions were not kept: {path} is not there)")
    return 0


def differences(logged: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """One line for each number that differs; times stand outside."""
    was, now = _comparable(logged), _comparable(values)
    return [
        f"{name}: logged {was.get(name)}, now {now.get(name)}"
        for name in sorted(was.keys() | now.keys())
        if repr(was.get(name)) != repr(now.get(name))  # nan equals nan here
    ]


def row_differences(
    logged: list[dict[str, Any]], rows: list[dict[str, Any]]
) -> list[str]:
    """One line for each completion that differs, with the first field that does."""
    if len(logged) != len(rows):
        return [f"completions: logged {len(logged)}, now {len(rows)}"]
    found = []
    for was, now in zip(logged, rows, strict=True):
        fields = [name for name in was | now if was.get(name) != now.get(name)]
        if fields:
            name = fields[0]
            found.append(
                f"draw {was.get('draw')} sample {was.get('sample')} {name}: logged"
                f" {was.get(name)!r}, now {now.get(name)!r}"
            )
    return found


def _comparable(values: Mapping[str, Any]) -> dict[str, Any]:
    kept = without_times(values)
    return {
        name: value
        for name, value in kept.items()
        if name != "step" and not name.startswith(_OF_THE_LOG)
    }


def _logged(run: RunDirectory, step: int) -> dict[str, Any]:
    lines = {line["step"]: line for line in run.read_metrics()}
    if step not in lines:
        steps = f"1 to {max(lines)}" if lines else "none yet"
        raise UserError(f"--step={step} was not logged by {run.path}; it has {steps}")
    return lines[step]


def _before(step: int, job: Job, checkpoints: Checkpoints) -> tuple[int, TrainState]:
    """(steps done, state) of the newest checkpoint before a step, else the start."""
    steps = [saved for saved in checkpoints.steps() if saved < step]
    if not steps:
        return 0, job.state
    state, _ = checkpoints.restore(steps[-1], build.abstract(job.state))
    return steps[-1], state


def _rows(run: RunDirectory, step: int) -> list[dict[str, Any]] | None:
    path = run.rollout_path(step)
    if not path.exists():
        return None
    try:
        return [json.loads(line) for line in path.open(encoding="utf-8")]
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}") from None


if __name__ == "__main__":
    config_door.main(main)
