"""Several processes as one: they meet, grade their own rows, and notice a loss.

The runtime is JAX's own: every process runs the same program on its devices. What JAX
leaves to the caller is here: that all run the same code on the same config, who owns
which rows, and an end when a peer is gone.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.experimental import multihost_utils

from agrae_jax.errors import UserError

# Seconds after which a process that says nothing counts as dead. The others are then
# ended by JAX, which prints the reason.
HEARTBEAT_S = 10
MEETING_S = 300  # to wait for all processes at the start
# The processes of one machine or a cluster of any kind; a TPU pod knows by itself.
ADDRESS, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
POD = "AGRAE_JAX_POD"


def start() -> None:
    """Joins the other processes, if the environment says that there are any.

    On a TPU pod AGRAE_JAX_POD=1 is enough; elsewhere JAX_COORDINATOR_ADDRESS=HOST:PORT,
    JAX_NUM_PROCESSES and JAX_PROCESS_ID. Must come before anything asks for a device.
    Raises `UserError` where they contradict themselves or nobody answers.
    """
    given = {name: os.environ.get(name, "") for name in (ADDRESS, COUNT, INDEX)}
    if not any(given.values()) and os.environ.get(POD, "") in ("", "0"):
        return
    options: dict[str, Any] = {}
    if any(given.values()):
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise UserError(f"{missing[0]} is not set beside the others of its kind")
        count, index = given[COUNT], given[INDEX]
        if not (count.isdigit() and index.isdigit() and int(index) < int(count)):
            raise UserError(
                f"{INDEX}={index} must be a number from 0, below {COUNT}={count}"
            )
        options = {
            "coordinator_address": given[ADDRESS],
            "num_processes": int(count),
            "process_id": int(index),
        }
    try:
        jax.distributed.initialize(
            **options,
            initialization_timeout=MEETING_S,
            heartbeat_timeout_seconds=HEARTBEAT_S,
        )
    except (RuntimeError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise UserError(f"the processes did not find each other: {first}") from None


def own_directory(workdir: str | Path) -> Path:
    """Where this process writes its logs: process 0 in the run's directory itself, the
    others in hosts/<number> below it, once it has been claimed."""
    index = jax.process_index()
    return Path(workdir) / "hosts" / str(index) if index else Path(workdir)


def meet(name: str) -> None:
    """Waits until every process is here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


def gather(value: Any) -> list[Any]:
    """This JSON value of every process, in their order; all must call."""
    if jax.process_count() == 1:
        return [value]
    data = np.frombuffer(json.dumps(value).encode(), np.uint8)
    sizes = multihost_utils.process_allgather(np.int32(data.size))
    padded = np.zeros(int(np.max(sizes)), np.uint8)
    padded[: data.size] = data
    rows = np.asarray(multihost_utils.process_allgather(padded))
    pairs = zip(rows, np.asarray(sizes).reshape(-1), strict=True)
    return [json.loads(row[:size].tobytes()) for row, size in pairs]


def from_first(value: Any) -> Any:
    """Process 0's JSON value, whatever the others give; all must call."""
    if jax.process_count() == 1:
        return value
    return gather(value if jax.process_index() == 0 else None)[0]


def check_alike(facts: Mapping[str, Any]) -> None:
    """Raises `UserError`, in every process, naming the first fact that differs.

    To be called before the first step, with what all processes must have in common:
    processes that run different programs wait for each other for ever. Of a long text
    its hash is compared and shown.
    """
    found = gather({name: _short(value) for name, value in facts.items()})
    for name, value in found[0].items():
        odd = [i for i, other in enumerate(found) if other.get(name) != value]
        if odd:
            raise UserError(
                f"processes differ in their {name}: process 0 has {value}, process"
                f" {odd[0]} has {found[odd[0]].get(name)}. Start all of them with the"
                " same code and command"
            )


def _short(value: Any) -> Any:
    long = isinstance(value, str) and len(value) > 200
    return hashlib.sha256(value.encode()).hexdigest()[:16] if long else value


def check_rows(mesh: jax.sharding.Mesh) -> None:
    """Raises `UserError` unless the batch rows of the mesh are process-major.

    A group is then sampled, graded and logged by one process.
    """
    rows = np.vectorize(lambda device: device.process_index)(mesh.devices)
    rows = rows.reshape(len(mesh.devices), -1)
    owners = rows[:, 0]
    share = len(owners) // jax.process_count()
    wanted = np.repeat(np.arange(jax.process_count()), max(share, 1))
    whole = (rows == owners[:, None]).all()
    if not whole or len(owners) != len(wanted) or (owners != wanted).any():
        raise UserError(
            f"mesh.fsdp x mesh.tensor = {len(rows)} x {rows.shape[1]} does not give"
            f" every one of the {jax.process_count()} processes rows of its own: make"
            f" mesh.tensor a divisor of the {jax.local_device_count()} devices of each"
        )


class Watchdog:
    """Ends this process, with every thread's stack, if it is not told of progress.

    A collective whose peer hangs waits for ever and holds the main thread, so the
    timer is the interpreter's own and needs no thread that could be waited for.
    `after_s` 0 turns it off.
    """

    def __init__(self, after_s: float):
        self._after_s = after_s

    def __enter__(self) -> Watchdog:
        self.progress()
        return self

    def progress(self) -> None:
        """Starts the time anew."""
        if self._after_s:
            faulthandler.dump_traceback_later(
                self._after_s, exit=True, file=sys.__stderr__ or sys.stderr
            )

    def __exit__(self, *_: Any) -> None:
        faulthandler.cancel_dump_traceback_later()


def local_rows(x: Array) -> np.ndarray:
    """The rows (axis 0) of a batch-sharded array that this process holds, in order."""
    if x.is_fully_addressable:
        return np.asarray(x)
    rows = {(s.index[0].start or 0): s.data for s in x.addressable_shards}
    return np.concatenate([np.asarray(rows[start]) for start in sorted(rows)])


def whole(x: Any) -> np.ndarray:
    """All of an array, wherever its parts are; all processes must call."""
    if not isinstance(x, Array) or x.is_fully_addressable:
        return np.asarray(x)
    return np.asarray(multihost_utils.process_allgather(x, tiled=True))


def global_rows(local: Any, sharding: Any) -> Any:
    """A tree of this process's rows -> global arrays with `sharding` on axis 0."""

    def put(x: np.ndarray) -> Array:
        if sharding is None:
            return jax.device_put(x)
        return jax.make_array_from_process_local_data(sharding, np.asarray(x))

    return jax.tree.map(put, local)


def local_slice(total: int) -> slice:
    """The rows of a process-major batch of `total` rows that this process owns."""
    share = total // jax.process_count()
    start = jax.process_index() * share
    return slice(start, start + share)
