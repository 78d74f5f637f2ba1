"""Surrogates: how an advantage and a log-ratio become a loss per token.

Every loss is minimised. Padding gets a log-ratio of 0, set before the exponential,
so it can send neither NaN nor infinity into a gradient.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import as_sum, masked
from agrae_jax.types import Metrics, TokenContext

# exp(20) = 5e8 is still far from float32 overflow.
MAX_LOG_RATIO = 20.0


def log_ratio(ctx: TokenContext) -> Array:
    """Returns `log pi - log pi_old` of each token, clamped to +-20; 0 at padding."""
    difference_BGT = masked(ctx.logprob_BGT - ctx.old_logprob_BGT, ctx.mask_BGT)
    return jnp.clip(difference_BGT, -MAX_LOG_RATIO, MAX_LOG_RATIO)


def ratio_metrics(ctx: TokenContext, clipped_BGT: Array) -> Metrics:
    """Returns the share of clipped tokens and the mean of `log pi_old - log pi`."""
    return {
        "clip_fraction": as_sum(clipped_BGT, ctx.mask_BGT),
        "approx_kl": as_sum(-log_ratio(ctx), ctx.mask_BGT),
    }


def ppo_clip(
    ctx: TokenContext, advantage_BGT: Array, *, low: float, high: float, dual: float
) -> tuple[Array, Metrics]:
    """Returns `max(-A ratio, -A clip(ratio, 1 - low, 1 + high))` (PPO, GRPO, DAPO).

    With `dual` > 1 the loss of a negative advantage stops at `-dual A` (2104.05677,
    dual-clip PPO 1912.09729); `dual` = 0 leaves it open.
    """
    ratio_BGT = jnp.exp(log_ratio(ctx))
    open_BGT = -advantage_BGT * ratio_BGT
    bound_BGT = -advantage_BGT * jnp.clip(ratio_BGT, 1 - low, 1 + high)
    clipped_BGT = bound_BGT > open_BGT
    # `where`, not `maximum`: a tie inside the range must keep the whole gradient.
    loss_BGT = jnp.where(clipped_BGT, bound_BGT, open_BGT)
    metrics = ratio_metrics(ctx, clipped_BGT)
    if dual:
        ceiling_BGT = -dual * advantage_BGT
        over_BGT = (advantage_BGT < 0) & (loss_BGT > ceiling_BGT)
        loss_BGT = jnp.where(over_BGT, ceiling_BGT, loss_BGT)
        metrics["clip_fraction_low"] = as_sum(over_BGT, ctx.mask_BGT)
    return loss_BGT, metrics


def reinforce(ctx: TokenContext, advantage_BGT: Array) -> tuple[Array, Metrics]:
    """Returns `-A log pi`: no ratio, no clip (REINFORCE, GPG 2504.02546)."""
    loss_BGT = -advantage_BGT * masked(ctx.logprob_BGT, ctx.mask_BGT)
    return loss_BGT, {"approx_kl": as_sum(-log_ratio(ctx), ctx.mask_BGT)}
