"""What a training step leaves behind: its line, its rollouts, warnings, a bad batch."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from agrae_jax.console import Console, StepReport
from agrae_jax.data.batches import HostBatch
from agrae_jax.distributed import gather, local_rows
from agrae_jax.grader import Grader
from agrae_jax.health import Health, check_ungradable, not_finite
from agrae_jax.job import Job
from agrae_jax.metrics import JsonlWriter, finalize
from agrae_jax.reporting import EpochCount, Timer, report_step, rollout_rows
from agrae_jax.run_directory import RunDirectory
from agrae_jax.step import Seen
from agrae_jax.types import Metrics


class StepLog:
    """Writes into a run's directory; made after the logs were cut back."""

    def __init__(
        self, config: Any, run: RunDirectory, job: Job, console: Console, grader: Grader
    ):
        self._config, self._run, self._job = config, run, job
        self._console, self._grader = console, grader
        logged = run.read_metrics()
        self._health = Health(logged)
        self._epoch = EpochCount(len(job.stream.encoded), logged)
        self._writer = JsonlWriter(run.metrics)

    def write(
        self, step: int, batch: HostBatch, metrics: Metrics, seen: Seen, timer: Timer
    ) -> StepReport:
        """Writes what step number `step` (from 1) did; returns what the console shows.

        Raises UserError where the run must stop. What is needed to see why is written
        by then, and the step's checkpoint is not.
        """
        config, decode = self._config, self._job.decode
        values = finalize(jax.device_get(metrics))
        timer.stop()
        values, summary = report_step(values, batch, seen, timer)
        values |= self._grader.end_step(
            step, batch, seen, decode, timer.seconds["verify"]
        )
        draw_B = np.asarray(batch.prompts.draw_B).tolist()
        solved_B = local_rows(seen.graded.correct_BG).any(-1).tolist()
        for draws, solved in gather([draw_B, solved_B]):  # of all processes
            values |= self._epoch.add(draws, solved)
        self._writer.write(step, values)
        bad = bool(not_finite(values))
        every = config.log.rollouts_every
        if bad or (every and step % every == 0):
            rows = rollout_rows(batch, seen, decode, tokens=config.log.tokens)
            self._run.write_rollouts(step, rows)
        if bad:
            self._run.write_fault(step, fault_arrays(seen))
        warning = self._health.check_finite(
            values, step, skip=config.updates.on_nan == "skip"
        )
        check_ungradable(values, step, config.verify.max_ungradable)
        for line in filter(None, [warning, *self._health.warnings(values)]):
            self._console.warn(line)
        return summary

    def close(self) -> None:
        """Closes metrics.jsonl."""
        self._writer.close()


def fault_arrays(seen: Seen) -> dict[str, np.ndarray]:
    """The arrays of a batch by field name: its rollout, its grades, what it learned."""
    parts = {"rollout": seen.rollout, "graded": seen.graded}
    leaves, _ = jax.tree_util.tree_flatten_with_path(parts)
    found = {str(getattr(path[-1], "name", path[-1])): x for path, x in leaves}
    found |= {"reward_BG": seen.reward_BG, "advantage_BG": seen.advantage_BG}
    return {name: np.asarray(jax.device_get(x)) for name, x in found.items()}
