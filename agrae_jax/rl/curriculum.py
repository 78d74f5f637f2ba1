"""A curriculum as a bandit: each level of difficulty is an arm (SEC, 2505.14970)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked_count, masked_sum


def arm_probabilities(value_A: Array, present_A: Array, *, temperature: float) -> Array:
    """Returns `softmax(Q / temperature)` over the arms with `present > 0`."""
    logits_A = jnp.where(present_A > 0, value_A / temperature, -jnp.inf)
    return jax.nn.softmax(logits_A)


def arm_rewards(
    advantage_BG: Array, valid_BG: Array, arm_B: Array, *, arms: int
) -> tuple[Array, Array]:
    """Returns mean |A| over the rollouts of each arm, and how many there were."""
    of_arm_AB1 = jnp.stack([arm_B == arm for arm in range(arms)])[..., None]
    mask_ABG = of_arm_AB1 & (valid_BG > 0)
    size_ABG = jnp.broadcast_to(jnp.abs(advantage_BG), mask_ABG.shape)
    total_A = masked_sum(size_ABG.reshape(arms, -1), mask_ABG.reshape(arms, -1), -1)
    count_A = masked_count(mask_ABG.reshape(arms, -1), -1)
    return total_A / jnp.maximum(count_A, 1), count_A


def update_values(
    value_A: Array, reward_A: Array, count_A: Array, *, rate: float
) -> Array:
    """Returns `rate * reward + (1 - rate) * Q` for arms that appeared, else Q."""
    moved_A = rate * reward_A + (1 - rate) * value_A
    return jnp.where(count_A > 0, moved_A, value_A)
