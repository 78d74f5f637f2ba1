"""Credit: the advantage of a completion -> the advantage of each of its tokens."""

from __future__ import annotations

from jax import Array

from agrae_jax.types import TokenContext


def broadcast(advantage_BG: Array, ctx: TokenContext) -> Array:
    """Gives every token of a completion the completion's advantage."""
    return advantage_BG[..., None] * ctx.mask_BGT
