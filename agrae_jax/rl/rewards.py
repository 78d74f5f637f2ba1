"""Rewards: what is known of a whole completion -> `reward_BG`, float32."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked_count, masked_mean, masked_sum
from agrae_jax.rl.regularizers import Estimator
from agrae_jax.types import RewardFn, RewardInput


def correctness(inputs: RewardInput) -> Array:
    """Returns 1 for a correct completion and 0 for any other."""
    return inputs.correct_BG.astype(jnp.float32)


def with_format(inputs: RewardInput, *, reward: RewardFn, weight: float) -> Array:
    """Returns `(1 - weight) * reward + weight * format`.

    Weight 0.1 over correctness is the reward of A-GRAE's Geometry3K runs, as its code
    has it; the paper (2602.05548) prints the two weights the other way round.
    """
    format_BG = inputs.format_ok_BG.astype(jnp.float32)
    return (1.0 - weight) * reward(inputs) + weight * format_BG


def less_kl(
    inputs: RewardInput, *, reward: RewardFn, coef: float, estimator: Estimator
) -> Array:
    """Returns `reward - coef * sum over tokens of KL(pi_old || ref)` (PPO's place).

    Rewards are then no longer 0 or 1; p and omega still come from correctness. Raises
    ValueError where the reference log-probs were not computed.
    """
    if inputs.ref_gap_BGT is None:
        raise ValueError("less_kl needs ref_gap: name it in Method.needs")
    kl_BG = jnp.sum(estimator(jnp.clip(-inputs.ref_gap_BGT, -20.0, 20.0)), -1)
    return reward(inputs) - coef * kl_BG


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
