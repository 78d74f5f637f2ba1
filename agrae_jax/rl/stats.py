"""Statistics of whole groups, over the samples that could be graded."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked, masked_count, masked_mean, masked_sum
from agrae_jax.types import GroupStats


def group_stats(
    reward_BG: Array, correct_BG: Array, valid_BG: Array, *, ddof: int
) -> GroupStats:
    """Returns mean and spread of rewards, success rates, and omega (A-GRAE eq. 11).

    Samples with `valid_BG == 0` count nowhere, whatever their reward holds (NaN
    included). `p_B` and `omega` come from correctness, so a shaped reward cannot
    change them. `std_B` divides by `valid - ddof`.

    `degenerate_B` compares the largest and the smallest reward: in float32 the
    deviation of seven rewards of 0.9 is 6e-8, not 0, and dividing by it would push
    all seven the same way.
    """
    reward_BG = reward_BG.astype(jnp.float32)
    correct_BG = correct_BG.astype(jnp.float32)
    valid_B = masked_count(valid_BG, -1)

    mean_B = masked_mean(reward_BG, valid_BG, -1)
    deviation_BG = masked(reward_BG - mean_B[:, None], valid_BG)
    variance_B = jnp.sum(deviation_BG**2, -1) / jnp.maximum(valid_B - ddof, 1)
    largest_B = jnp.max(jnp.where(valid_BG > 0, reward_BG, -jnp.inf), -1)
    smallest_B = jnp.min(jnp.where(valid_BG > 0, reward_BG, jnp.inf), -1)

    return GroupStats(
        mean_B=mean_B,
        std_B=jnp.sqrt(variance_B),
        degenerate_B=(valid_B < 2) | (largest_B == smallest_B),
        p_B=masked_mean(correct_BG, valid_BG, -1),
        count_B=masked_sum(correct_BG, valid_BG, -1),
        valid_B=valid_B,
        omega=masked_mean(correct_BG, valid_BG),
    )
