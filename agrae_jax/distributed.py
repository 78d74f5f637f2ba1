"""Rows between hosts and devices: each process reads and grades only its own."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array


def local_rows(x: Array) -> np.ndarray:
    """The rows (axis 0) of a batch-sharded array that this process holds, in order."""
    if x.is_fully_addressable:
        return np.asarray(x)
    rows = {(s.index[0].start or 0): s.data for s in x.addressable_shards}
    return np.concatenate([np.asarray(rows[start]) for start in sorted(rows)])


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
