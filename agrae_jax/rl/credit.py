"""Credit: the advantage of a completion -> the advantage of each of its tokens."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked
from agrae_jax.types import TokenContext


def broadcast(advantage_BG: Array, ctx: TokenContext) -> Array:
    """Gives every token of a completion the completion's advantage."""
    return advantage_BG[..., None] * ctx.mask_BGT


def entropy_shaped(
    advantage_BG: Array, ctx: TokenContext, *, alpha: float, kappa: float
) -> Array:
    """Adds `min(alpha H, |A| / kappa)` to the advantage of each token (2506.14758).

    H is the token's entropy at the start of the step; with kappa > 1 no sign flips.
    Raises ValueError where those entropies were not computed.
    """
    if ctx.old_entropy_BGT is None:
        raise ValueError("entropy_shaped needs old_entropy: name it in Method.needs")
    advantage_BGT = broadcast(advantage_BG, ctx)
    entropy_BGT = masked(ctx.old_entropy_BGT, ctx.mask_BGT)
    bonus_BGT = jnp.minimum(alpha * entropy_BGT, jnp.abs(advantage_BGT) / kappa)
    return advantage_BGT + bonus_BGT
