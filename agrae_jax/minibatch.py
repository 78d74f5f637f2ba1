"""How a rollout batch is split: mini-batches (optimizer steps) and micro-batches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.types import TokenContext, TrainBatch


def take_split(x: Array, *, index: int, count: int) -> Array:
    """Part `index` of `count` of the batch axis: rows index, index + count, ...

    Interleaved, so that every device's block of rows gives an equal share and the
    composition of a part does not depend on the mesh. Scalars belong to every part.
    """
    return x if x.ndim == 0 or count == 1 else x[index::count]


def split_rows(batch: Any, count: int) -> Any:
    """All parts of `take_split`, stacked on a new leading axis, to loop over."""

    def stack(x: Array) -> Array:
        if x.ndim == 0:
            return jnp.broadcast_to(x, (count,))
        return x.reshape(x.shape[0] // count, count, *x.shape[1:]).swapaxes(0, 1)

    return jax.tree.map(stack, batch)


def live_first(batch: TrainBatch, live_B: Array, count: int) -> TrainBatch:
    """Reorders groups so that the first of `count` parts hold the live ones.

    Parts are those of `split_rows`; the order within live and dead is kept.
    """
    rows = live_B.shape[0] // count
    order = jnp.argsort(~live_B, stable=True).reshape(count, rows).T.reshape(-1)
    return jax.tree.map(lambda x: x if x.ndim == 0 else x[order], batch)


def token_context(
    batch: TrainBatch, logprob_BGT: Array, entropy_BGT: Array | None
) -> TokenContext:
    """What token-level parts of a method see; log-probs at padding are set to 0."""
    real = batch.mask_BGT > 0

    def clean(x: Array) -> Array:
        return jnp.where(real, x, 0.0)

    def optional(x: Array | None) -> Array | None:
        return None if x is None else clean(x)

    logprob = clean(logprob_BGT)
    old = batch.old_logprob_BGT
    return TokenContext(
        mask_BGT=batch.mask_BGT,
        weight_BGT=batch.weight_BGT,
        logprob_BGT=logprob,
        old_logprob_BGT=jax.lax.stop_gradient(logprob if old is None else clean(old)),
        sampler_logprob_BGT=clean(batch.sampler_logprob_BGT),
        ref_logprob_BGT=optional(batch.ref_logprob_BGT),
        entropy_BGT=optional(entropy_BGT),
        old_entropy_BGT=optional(batch.old_entropy_BGT),
        length_BG=batch.length_BG,
        stop_BG=batch.stop_BG,
        correct_BG=batch.correct_BG,
        valid_BG=batch.valid_BG,
        reward_BG=batch.reward_BG,
        stats=batch.stats,
        selected_BGT=optional(batch.selected_BGT),
        statistic_BGT=optional(batch.statistic_BGT),
    )
