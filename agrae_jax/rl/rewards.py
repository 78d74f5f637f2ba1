"""Rewards: what is known of a whole completion -> `reward_BG`, float32."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.types import RewardInput


def correctness(inputs: RewardInput) -> Array:
    """Returns 1 for a correct completion and 0 for any other."""
    return inputs.correct_BG.astype(jnp.float32)
