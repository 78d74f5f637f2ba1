"""The best model so far by a number of its evaluation, kept in RUN/best/."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from agrae_jax.checkpoint import Checkpoints
from agrae_jax.checksums import BrokenCheckpoint
from agrae_jax.console import Console
from agrae_jax.errors import UserError
from agrae_jax.evaluation.summary import metric
from agrae_jax.run_directory import RunDirectory
from agrae_jax.types import Params, TrainState


class Best:
    """Keeps the parameters of the evaluated step with the largest `name`."""

    def __init__(self, run: RunDirectory, name: str, console: Console):
        self._name, self._console = name, console
        # beside the checkpoints, which are common to all processes
        folder = run.checkpoints.parent / "best"
        self._kept = Checkpoints(folder, keep=1, say=console.warn)
        self._step, self._value = self._kept.latest(), float("-inf")
        if self._step is not None:
            try:
                meta = self._kept.meta(self._step)
            except BrokenCheckpoint as error:
                raise UserError(
                    f"{error}; remove {self._kept.directory / str(self._step)} to go on"
                    " without the best model so far"
                ) from error
            if meta["metric"] == name:
                self._value = meta["value"]

    def offer(self, step: int, params: Params, result: dict[str, Any]) -> None:
        """Saves `params` if `result` is better than all before; an equal one is not.

        A step that was offered before an interruption is not better than itself, so
        a resumed run keeps what an unbroken one does.
        """
        value = metric(result, self._name)
        if value is None:
            self._console.warn(f"step {step} has no {self._name}: best/ stays as it is")
            return
        if value <= self._value or step == self._step:
            return
        where = jax.tree.leaves(params)[0].sharding
        if isinstance(where, NamedSharding):  # of all processes, as they are
            where = NamedSharding(where.mesh, PartitionSpec())
        number = jax.device_put(np.int32(step), where)
        state = TrainState(number, params, opt_state=(), method_state=())
        self._kept.save(step, state, {"metric": self._name, "value": value})
        self._kept.wait()
        self._step, self._value = step, value
        self._console.say(f"best so far: {self._name} {value:.4f} at step {step}")
