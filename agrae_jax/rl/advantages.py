"""Base advantages: the rewards of a group -> `advantage_BG`, before shapers.

A group whose rewards are all equal teaches these bases nothing: its advantages are
exactly 0, except where a docstring says otherwise.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked
from agrae_jax.types import AdvantageInput


def group_normalize(inputs: AdvantageInput, *, eps: float) -> Array:
    """Returns `(r - mean) / (std + eps)` in each group (GRPO, 2402.03300; A-GRAE 3)."""
    stats = inputs.stats
    scale_B = jnp.where(stats.degenerate_B, 1.0, stats.std_B + eps)  # eps may be 0
    return group_center(inputs) / scale_B[:, None]


def group_center(inputs: AdvantageInput) -> Array:
    """Returns `r - mean` in each group (Dr. GRPO, 2503.20783)."""
    stats = inputs.stats
    advantage_BG = inputs.reward_BG - stats.mean_B[:, None]
    return jnp.where(stats.degenerate_B[:, None], 0.0, advantage_BG)


def leave_one_out(inputs: AdvantageInput) -> Array:
    """Returns `r - mean of the others` in each group (RLOO, 2402.14740)."""
    others_B = jnp.maximum(inputs.stats.valid_B - 1, 1)
    return group_center(inputs) * (inputs.stats.valid_B / others_B)[:, None]


def greedy_baseline(inputs: AdvantageInput) -> Array:
    """Returns `r - reward of the greedy completion` (ReMax, 2310.10505).

    Groups of equal rewards do teach. Raises ValueError without a greedy rollout.
    """
    if inputs.greedy_reward_B is None:
        raise ValueError("greedy_baseline needs greedy_rollout in Method.needs")
    return inputs.reward_BG - inputs.greedy_reward_B[:, None]


def reward_itself(inputs: AdvantageInput) -> Array:
    """Returns the reward, with no baseline: for a credit that makes one."""
    return inputs.reward_BG


def sign(inputs: AdvantageInput, *, correct: float, wrong: float) -> Array:
    """Returns `correct` or `wrong` by correctness alone (REINFORCE, PSR, NSR).

    There is no baseline: groups of equal rewards do teach.
    """
    return jnp.where(inputs.correct_BG > 0.5, correct, wrong)


def odds_power(inputs: AdvantageInput, *, beta_pos: float, beta_neg: float) -> Array:
    """Returns powers of the odds of failure or success (AsymGRPO, 2604.04894 eq. 5).

    `((1 - p) / p)^beta_pos` where correct, `-(p / (1 - p))^beta_neg` where wrong; 1/2
    and 1/2 is GRPO with the population's deviation, 0 and 0 is REINFORCE. An exponent
    of 0 or below lets groups of equal rewards teach; below 0, where their odds would
    be infinite, p is kept in [1 / 2n, 1 - 1 / 2n].
    """
    n_B, c_B = inputs.stats.valid_B, inputs.stats.count_B

    def odds_against(count_B: Array, beta: float) -> Array:
        # The floor guards what no sample reads: a sign with samples counts >= 1.
        count_B = jnp.clip(count_B, 0.5, n_B - 0.5 if beta < 0 else n_B)
        return ((n_B - count_B) / count_B) ** beta

    positive_B = odds_against(c_B, beta_pos)
    negative_B = -odds_against(n_B - c_B, beta_neg)
    right_BG = inputs.correct_BG > 0.5
    return jnp.where(right_BG, positive_B[:, None], negative_B[:, None])


def length_baseline(inputs: AdvantageInput) -> Array:
    """Returns `r - sum(length r) / sum(length)` in each group (OPO, 2505.23585)."""
    length_BG = masked(inputs.length_BG.astype(jnp.float32), inputs.valid_BG)
    total_B = jnp.maximum(jnp.sum(length_BG, -1), 1)
    baseline_B = jnp.sum(length_BG * inputs.reward_BG, -1) / total_B
    advantage_BG = inputs.reward_BG - baseline_B[:, None]
    return jnp.where(inputs.stats.degenerate_B[:, None], 0.0, advantage_BG)


def group_center_rescaled(inputs: AdvantageInput) -> Array:
    """Returns `(r - mean) * samples / samples with a reward` (GPG, 2504.02546).

    The factor is the batch's: it makes up for groups that teach nothing.
    """
    rewarded = jnp.sum((inputs.reward_BG != 0) & (inputs.valid_BG > 0))
    scale = jnp.sum(inputs.stats.valid_B) / jnp.maximum(rewarded, 1)
    return group_center(inputs) * scale


def pass_at_k(inputs: AdvantageInput, *, k: int, eps: float) -> Array:
    """Returns the advantage of a sample in a random set of k (P@kT, 2508.10751).

    With `rho = 1 - C(n - c, k) / C(n, k)` the chance that k of a group's n samples
    hold one of its c correct ones, and `sigma = sqrt(rho (1 - rho))`:

        correct    (1 - rho) / (sigma + eps)
        wrong      (1 - rho - C(n - c - 1, k - 1) / C(n - 1, k - 1)) / (sigma + eps)

    The average over all sets with the sample in it of (best reward - rho) / sigma; k
    = 1 is GRPO. A group of fewer than k samples is one set.
    """
    n_B, c_B = inputs.stats.valid_B, inputs.stats.count_B

    def factor(i: int) -> Array:
        share_B = jnp.maximum(n_B - c_B - i, 0) / jnp.maximum(n_B - i, 1)
        return jnp.where(n_B > i, share_B, 1.0)

    factor_KB = jnp.stack([factor(i) for i in range(k)])
    miss_B = jnp.prod(factor_KB, 0)
    # Given one wrong sample, k - 1 of the other n - 1 remain: the same factors again.
    wrong_miss_B = jnp.prod(factor_KB[1:], 0)
    sigma_B = jnp.sqrt(miss_B * (1 - miss_B))
    mixed_B = (miss_B > 0) & (miss_B < 1)
    scale_B = jnp.where(mixed_B, sigma_B + eps, 1.0)
    positive_B = jnp.where(mixed_B, miss_B / scale_B, 0.0)
    negative_B = jnp.where(mixed_B, (miss_B - wrong_miss_B) / scale_B, 0.0)
    right_BG = inputs.correct_BG > 0.5
    return jnp.where(right_BG, positive_B[:, None], negative_B[:, None])


def whiten(inputs: AdvantageInput, *, group_baseline: bool) -> Array:
    """Returns rewards whitened over all tokens of the batch (REINFORCE++, 2501.03262).

    `(r - m) / sqrt(v + 1e-8)`, m and v (unbiased) over tokens, so a completion counts
    by its length; with `group_baseline`, of `r - group mean`. No discount: the return
    of every token is the reward at the end. Groups of equal rewards do teach.
    """
    reward_BG = group_center(inputs) if group_baseline else inputs.reward_BG
    length_BG = masked(inputs.length_BG.astype(jnp.float32), inputs.valid_BG)
    tokens = jnp.maximum(jnp.sum(length_BG), 2)
    deviation_BG = reward_BG - jnp.sum(length_BG * reward_BG) / tokens
    variance = jnp.sum(length_BG * deviation_BG**2) / (tokens - 1)
    return deviation_BG / jnp.sqrt(variance + 1e-8)
