"""Importance weights against the gap between the sampler and the trainer.

The sampler computes log-probs by another program than the trainer, so the old policy
is not exactly the one that sampled. These weights multiply the loss of each token,
after clipping, without gradient.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked
from agrae_jax.types import TokenContext


def _log_gap(ctx: TokenContext) -> Array:
    """Returns `log pi_old - log pi_sampler` of each token; 0 at padding."""
    gap_BGT = masked(ctx.old_logprob_BGT - ctx.sampler_logprob_BGT, ctx.mask_BGT)
    return jax.lax.stop_gradient(gap_BGT)


def truncated_token(ctx: TokenContext, *, cap: float) -> Array:
    """Returns `min(pi_old / pi_sampler, cap)` of each token (truncated IS)."""
    return jnp.minimum(jnp.exp(jnp.clip(_log_gap(ctx), -20.0, 20.0)), cap)


def truncated_sequence(ctx: TokenContext, *, cap: float) -> Array:
    """Returns `min(product of the token ratios, cap)`, the same for every token."""
    log_BG1 = jnp.sum(_log_gap(ctx), -1, keepdims=True)
    weight_BG1 = jnp.minimum(jnp.exp(jnp.clip(log_BG1, -20.0, 20.0)), cap)
    return jnp.broadcast_to(weight_BG1, ctx.mask_BGT.shape)


def masked_token(ctx: TokenContext, *, low: float, high: float) -> Array:
    """Returns `pi_old / pi_sampler` of each token, 0 outside [low, high] (IcePop)."""
    return _inside(jnp.exp(jnp.clip(_log_gap(ctx), -20.0, 20.0)), low, high)


def masked_sequence(ctx: TokenContext, *, low: float, high: float) -> Array:
    """Returns the product of the token ratios, 0 outside [low, high]."""
    log_BG1 = jnp.sum(_log_gap(ctx), -1, keepdims=True)
    weight_BG1 = _inside(jnp.exp(jnp.clip(log_BG1, -20.0, 20.0)), low, high)
    return jnp.broadcast_to(weight_BG1, ctx.mask_BGT.shape)


def _inside(weight: Array, low: float, high: float) -> Array:
    return jnp.where((weight >= low) & (weight <= high), weight, 0.0)
