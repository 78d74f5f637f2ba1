"""Rewards: what is known of a whole completion -> `reward_BG`, float32."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked_count, masked_mean, masked_sum
from agrae_jax.types import RewardInput


def correctness(inputs: RewardInput) -> Array:
    """Returns 1 for a correct completion and 0 for any other."""
    return inputs.correct_BG.astype(jnp.float32)


def overlong(
    inputs: RewardInput, *, wrong: float, max_tokens: int, cache: int
) -> Array:
    """Adds a penalty for running long, in tokens (DAPO, 2503.14476 eq. 13).

    1 or `wrong` by correctness, plus 0 up to `max_tokens - cache` tokens, then falling
    linearly to -1 at `max_tokens`.
    """
    over_BG = (inputs.length_BG - (max_tokens - cache)).astype(jnp.float32)
    right_BG = jnp.where(inputs.correct_BG > 0.5, 1.0, wrong)
    return right_BG - jnp.clip(over_BG / cache, 0.0, 1.0)


def short_among_correct(
    inputs: RewardInput, *, alpha: float, wrong: float, eps: float = 1e-6
) -> Array:
    """Rewards short correct completions of a group (GRPO-LEAD, 2504.09696).

    `exp(-alpha z)` where correct, z the length standardised over the group's correct
    samples (sample deviation; 1 for a single one), and `wrong` elsewhere.
    """
    right_BG = (inputs.correct_BG > 0.5) & (inputs.valid_BG > 0)
    length_BG = inputs.length_BG.astype(jnp.float32)
    mean_B1 = masked_mean(length_BG, right_BG, -1)[:, None]
    count_B = masked_count(right_BG, -1)
    square_B = masked_sum((length_BG - mean_B1) ** 2, right_BG, -1)
    spread_B = jnp.sqrt(square_B / jnp.maximum(count_B - 1, 1))
    spread_B = jnp.where(count_B > 1, spread_B, 1.0)
    z_BG = (length_BG - mean_B1) / (spread_B[:, None] + eps)
    return jnp.where(right_BG, jnp.exp(-alpha * z_BG), wrong)
