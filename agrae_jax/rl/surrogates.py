"""Surrogates: how an advantage and a log-ratio become a loss per token.

Every loss is minimised. Padding gets a log-ratio of 0, set before the exponential,
so it can send neither NaN nor infinity into a gradient.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import as_sum, masked, masked_sum
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

    With `dual` > 1 the loss of a negative advantage stops at `-dual A` (dual-clip PPO,
    1912.09729); `dual` = 0 leaves it open.
    """
    ratio_BGT = jnp.exp(log_ratio(ctx))
    loss_BGT, metrics = _clip(ctx, advantage_BGT, ratio_BGT, low=low, high=high)
    if dual:
        ceiling_BGT = -dual * advantage_BGT
        over_BGT = (advantage_BGT < 0) & (loss_BGT > ceiling_BGT)
        loss_BGT = jnp.where(over_BGT, ceiling_BGT, loss_BGT)
        metrics["clip_fraction_low"] = as_sum(over_BGT, ctx.mask_BGT)
    return loss_BGT, metrics


def _clip(
    ctx: TokenContext,
    advantage_BGT: Array,
    ratio_BGT: Array,
    *,
    low: float,
    high: float,
) -> tuple[Array, Metrics]:
    open_BGT = -advantage_BGT * ratio_BGT
    bound_BGT = -advantage_BGT * jnp.clip(ratio_BGT, 1 - low, 1 + high)
    clipped_BGT = bound_BGT > open_BGT
    # `where`, not `maximum`: a tie inside the range must keep the whole gradient.
    loss_BGT = jnp.where(clipped_BGT, bound_BGT, open_BGT)
    return loss_BGT, ratio_metrics(ctx, clipped_BGT)


def reinforce(ctx: TokenContext, advantage_BGT: Array) -> tuple[Array, Metrics]:
    """Returns `-A log pi`: no ratio, no clip."""
    loss_BGT = -advantage_BGT * masked(ctx.logprob_BGT, ctx.mask_BGT)
    return loss_BGT, {"approx_kl": as_sum(-log_ratio(ctx), ctx.mask_BGT)}


def cispo(
    ctx: TokenContext, advantage_BGT: Array, *, low: float, high: float
) -> tuple[Array, Metrics]:
    """Returns `-sg(clip(ratio, 1 - low, 1 + high)) A log pi` (CISPO, 2506.13585).

    The weight of a token is clipped, its gradient never dropped; `low` >= 1 leaves
    small ratios alone.
    """
    ratio_BGT = jnp.exp(log_ratio(ctx))
    weight_BGT = jax.lax.stop_gradient(jnp.clip(ratio_BGT, 1 - low, 1 + high))
    loss_BGT, _ = reinforce(ctx, advantage_BGT)
    return weight_BGT * loss_BGT, ratio_metrics(ctx, weight_BGT != ratio_BGT)


def gspo(
    ctx: TokenContext, advantage_BGT: Array, *, low: float, high: float
) -> tuple[Array, Metrics]:
    """PPO's clip on the ratio of whole completions, per token (GSPO, 2507.18071).

    `log s_t = sg(mean of log-ratios) + log pi - sg(log pi)`: the value is the
    geometric mean of the ratios, the gradient reaches every token.
    """
    log_BGT = log_ratio(ctx)
    log_mean_BG1 = _sequence_mean(log_BGT, ctx)
    log_BGT = jax.lax.stop_gradient(log_mean_BG1 - log_BGT) + log_BGT
    return _clip(ctx, advantage_BGT, jnp.exp(log_BGT), low=low, high=high)


def gmpo(
    ctx: TokenContext, advantage_BGT: Array, *, low: float, high: float
) -> tuple[Array, Metrics]:
    """Returns `-A` times the geometric mean of clipped ratios (GMPO, 2507.20673).

    Log-ratios are clipped on one side: `min(d, high)` where `A > 0`, `max(d, -low)`
    elsewhere. Every token holds the loss of its completion, so use `sequence_mean`.
    """
    open_BGT = log_ratio(ctx)
    bound_BGT = jnp.where(
        advantage_BGT > 0, jnp.minimum(open_BGT, high), jnp.maximum(open_BGT, -low)
    )
    loss_BGT = -advantage_BGT * jnp.exp(_sequence_mean(bound_BGT, ctx))
    return loss_BGT, ratio_metrics(ctx, bound_BGT != open_BGT)


def kl_cov(
    ctx: TokenContext, advantage_BGT: Array, *, coef: float
) -> tuple[Array, Metrics]:
    """Returns `-A ratio`, plus `coef |log-ratio|` on selected tokens (2505.22617).

    No clip anywhere. Raises ValueError where no tokens were selected.
    """
    if ctx.selected_BGT is None:
        raise ValueError("kl_cov needs Method.token_select, like top_covariance")
    log_BGT = log_ratio(ctx)
    penalty_BGT = coef * ctx.selected_BGT * jnp.abs(log_BGT)
    metrics = {
        "approx_kl": as_sum(-log_BGT, ctx.mask_BGT),
        "selected_fraction": as_sum(ctx.selected_BGT, ctx.mask_BGT),
    }
    return -advantage_BGT * jnp.exp(log_BGT) + penalty_BGT, metrics


def veto_clip(
    ctx: TokenContext,
    advantage_BGT: Array,
    *,
    low: float,
    high: float,
    veto_low: float,
    veto_high: float,
) -> tuple[Array, Metrics]:
    """PPO's clip without what follows a lost prefix (after Mu-GRPO, 2605.17570).

    Where A < 0, the first token whose ratio leaves [veto_low, veto_high] is the last
    of its completion that trains; a bound of 0 is none. Denominators stay.
    """
    ratio_BGT = jnp.exp(log_ratio(ctx))
    fixed_BGT = jax.lax.stop_gradient(ratio_BGT)
    out_BGT = fixed_BGT < veto_low
    if veto_high:
        out_BGT = out_BGT | (fixed_BGT > veto_high)
    trigger_BGT = ((advantage_BGT < 0) & (ctx.mask_BGT > 0) & out_BGT).astype(int)
    before_BGT = jnp.cumsum(trigger_BGT, -1) - trigger_BGT
    loss_BGT, metrics = _clip(ctx, advantage_BGT, ratio_BGT, low=low, high=high)
    metrics["veto_fraction"] = as_sum(before_BGT > 0, ctx.mask_BGT)
    return jnp.where(before_BGT == 0, loss_BGT, 0.0), metrics


def sapo(
    ctx: TokenContext, advantage_BGT: Array, *, tau_pos: float, tau_neg: float
) -> tuple[Array, Metrics]:
    """Replaces the clip by a smooth gate (SAPO, 2511.20347).

    `-A sigmoid(tau (ratio - 1)) 4 / tau`, tau by the sign of A; slope 1 at ratio 1.
    """
    tau_BGT = jnp.where(advantage_BGT > 0, tau_pos, tau_neg)
    ratio_BGT = jnp.exp(log_ratio(ctx))
    gate_BGT = jax.nn.sigmoid(tau_BGT * (ratio_BGT - 1)) * 4 / tau_BGT
    metrics = {"approx_kl": as_sum(-log_ratio(ctx), ctx.mask_BGT)}
    return -advantage_BGT * gate_BGT, metrics


def _sequence_mean(x_BGT: Array, ctx: TokenContext) -> Array:
    """Returns the mean over the tokens of each completion, [B, G, 1]."""
    length_BG = jnp.maximum(jnp.sum(ctx.mask_BGT, -1), 1)
    return (masked_sum(x_BGT, ctx.mask_BGT, -1) / length_BG)[..., None]
