"""Sums and means over the entries that a mask keeps.

The mask enters through `where`, never through a product: a masked entry may hold
NaN or infinity and still adds nothing to a value or to a gradient.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.types import Sum


def masked(x: Array, mask: Array) -> Array:
    """Returns `x` where `mask > 0` and 0 elsewhere."""
    return jnp.where(mask > 0, x, 0)


def masked_sum(x: Array, mask: Array, axis: int | None = None) -> Array:
    """Returns the sum of `x` over the entries with `mask > 0`."""
    return jnp.sum(masked(x, mask), axis)


def masked_count(mask: Array, axis: int | None = None) -> Array:
    """Returns how many entries have `mask > 0`, as float32."""
    return jnp.sum(mask > 0, axis).astype(jnp.float32)


def masked_mean(x: Array, mask: Array, axis: int | None = None) -> Array:
    """Returns the mean of `x` over the entries with `mask > 0`; 0 if there are none."""
    return masked_sum(x, mask, axis) / jnp.maximum(masked_count(mask, axis), 1)


def as_sum(x: Array, mask: Array) -> Sum:
    """Returns (total, count) of `x` over the entries with `mask > 0`, for a metric."""
    x = x.astype(jnp.float32)
    return masked_sum(x, mask), masked_count(jnp.broadcast_to(mask, x.shape))
