"""Reductions as weights: the reduced loss is `sum(weight * loss)`.

The weights of a whole optimizer batch are fixed before it is split, so micro-batch
losses and gradients are plain sums. Rows without a token have no say in a
denominator.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.types import ReductionFn


def _rows(mask_BGT: Array) -> Array:
    """Returns the number of rows that hold at least one token."""
    return jnp.sum(jnp.any(mask_BGT > 0, -1)).astype(jnp.float32)


def token_mean(mask_BGT: Array, budget: int) -> Array:
    """Every token of the batch counts the same (DAPO, 2503.14476): `mask / tokens`."""
    del budget
    return mask_BGT / jnp.maximum(jnp.sum(mask_BGT), 1)


def sequence_mean(mask_BGT: Array, budget: int) -> Array:
    """Every completion counts the same (GRPO): `mask / (its length * rows)`."""
    del budget
    length_BG1 = jnp.sum(mask_BGT, -1, keepdims=True)
    return mask_BGT / (jnp.maximum(length_BG1, 1) * jnp.maximum(_rows(mask_BGT), 1))


def sequence_sum(mask_BGT: Array, budget: int) -> Array:
    """Every token counts the same, whatever the batch holds: `mask / rows`."""
    del budget
    return mask_BGT / jnp.maximum(_rows(mask_BGT), 1)


def fixed_length(mask_BGT: Array, budget: int) -> Array:
    """Divides by a constant (Dr. GRPO, 2503.20783): `mask / (rows * budget)`.

    `budget` is the number of tokens that a completion may have, not the padded width.
    """
    return mask_BGT / (jnp.maximum(_rows(mask_BGT), 1) * budget)


REDUCTIONS: dict[str, ReductionFn] = {
    "token_mean": token_mean,
    "sequence_mean": sequence_mean,
    "sequence_sum": sequence_sum,
    "fixed_length": fixed_length,
}
