"""Base advantages: the rewards of a group -> `advantage_BG`, before shapers.

A group whose rewards are all equal teaches these bases nothing: its advantages are
exactly 0, except for `sign`, which has no baseline.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

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


def sign(inputs: AdvantageInput, *, correct: float, wrong: float) -> Array:
    """Returns `correct` or `wrong` by correctness alone (REINFORCE, PSR, NSR)."""
    return jnp.where(inputs.correct_BG > 0.5, correct, wrong)
