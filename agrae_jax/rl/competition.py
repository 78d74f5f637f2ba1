"""How contested a token is, from its logits alone (after PAEC, 2606.08543)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array


def competition(logits_XV: Array, *, top_p: float, mix: float) -> Array:
    """Returns `mix u + (1 - mix) c` in [0, 1], of each row of logits.

    u is the entropy of the top-p nucleus over its logarithm of tokens (0 for one
    token), c the probability of the second best token over that of the best. The
    paper's own formula was not found.
    """
    prob_XV = jnp.sort(jax.nn.softmax(logits_XV, -1), -1, descending=True)
    inside_XV = jnp.cumsum(prob_XV, -1) - prob_XV < top_p
    kept_XV = jnp.where(inside_XV, prob_XV, 0.0)
    q_XV = kept_XV / jnp.sum(kept_XV, -1, keepdims=True)
    log_XV = jnp.log(jnp.where(q_XV > 0, q_XV, 1.0))
    size_X = jnp.sum(inside_XV, -1).astype(jnp.float32)
    entropy_X = -jnp.sum(q_XV * log_XV, -1)
    u_X = jnp.where(size_X > 1, entropy_X / jnp.log(jnp.maximum(size_X, 2.0)), 0.0)
    return mix * u_X + (1 - mix) * prob_XV[..., 1] / prob_XV[..., 0]
