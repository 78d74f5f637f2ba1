"""Token masks: which tokens the surrogate learns from. Denominators do not change."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked, masked_count, masked_mean
from agrae_jax.rl.surrogates import log_ratio
from agrae_jax.types import TokenContext


def high_entropy(ctx: TokenContext, advantage_BGT: Array, *, share: float) -> Array:
    """Keeps the `share` of the batch's tokens with the highest entropy (2506.01939).

    Kept are entropies at or above the (1 - share) quantile over all valid tokens.
    Raises ValueError where entropies were not computed.
    """
    if ctx.entropy_BGT is None:
        raise ValueError("high_entropy needs current_first_pass in Method.needs")
    entropy_BGT = jnp.where(ctx.mask_BGT > 0, ctx.entropy_BGT, jnp.nan)
    threshold = jnp.nanquantile(entropy_BGT, 1 - share)
    return (entropy_BGT >= threshold).astype(jnp.float32)


def covariance(ctx: TokenContext, advantage_BGT: Array) -> Array:
    """Returns `(A - mean A) (log pi - mean log pi)`, means over the batch's tokens."""
    logprob_BGT = masked(ctx.logprob_BGT, ctx.mask_BGT)
    centred_BGT = advantage_BGT - masked_mean(advantage_BGT, ctx.mask_BGT)
    return centred_BGT * (logprob_BGT - masked_mean(logprob_BGT, ctx.mask_BGT))


def clip_covariance(
    ctx: TokenContext,
    advantage_BGT: Array,
    *,
    share: float,
    lower: float,
    upper: float,
    low: float,
    high: float,
) -> Array:
    """Drops a few random tokens of high covariance (Clip-Cov, 2505.22617).

    Of the tokens with `lower < covariance < upper` that PPO's clip (`low`, `high`) has
    not dropped, `max(int(share * tokens), 1)` are dropped. Chance is a hash of a
    token's own log-prob, so neither order nor mesh changes the draw.
    """
    ratio_BGT = jnp.exp(log_ratio(ctx))
    clipped_BGT = -advantage_BGT * ratio_BGT < -advantage_BGT * jnp.clip(
        ratio_BGT, 1 - low, 1 + high
    )
    cov_BGT = covariance(ctx, advantage_BGT)
    candidate_BGT = (ctx.mask_BGT > 0) & (cov_BGT > lower) & (cov_BGT < upper)
    candidate_BGT = candidate_BGT & ~clipped_BGT
    drop = jnp.floor(share * masked_count(ctx.mask_BGT)).astype(jnp.int32)
    drop = jnp.clip(drop, 1, ctx.mask_BGT.size)
    noise_BGT = jnp.where(candidate_BGT, _hash(ctx.logprob_BGT), -1.0)
    threshold = jnp.sort(noise_BGT.ravel(), descending=True)[drop - 1]
    return 1.0 - (candidate_BGT & (noise_BGT >= threshold)).astype(jnp.float32)


def top_covariance(ctx: TokenContext, advantage_BGT: Array, *, share: float) -> Array:
    """Marks the tokens of highest covariance (KL-Cov, 2505.22617).

    `max(int(share * tokens), 1)` of the batch; those that tie with the last are too.
    """
    cov_BGT = jnp.where(ctx.mask_BGT > 0, covariance(ctx, advantage_BGT), -jnp.inf)
    count = jnp.floor(share * masked_count(ctx.mask_BGT)).astype(jnp.int32)
    count = jnp.clip(count, 1, ctx.mask_BGT.size)
    threshold = jnp.sort(cov_BGT.ravel(), descending=True)[count - 1]
    return ((ctx.mask_BGT > 0) & (cov_BGT >= threshold)).astype(jnp.float32)


def _hash(x: Array) -> Array:
    """Returns a float in [0, 1) that depends on nothing but the bits of each entry."""
    bits = jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
    bits = bits ^ (bits >> 16)
    return (bits >> 8).astype(jnp.float32) / jnp.float32(1 << 24)
