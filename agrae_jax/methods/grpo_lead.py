"""GRPO-LEAD: short correct answers and hard prompts count more (2504.09696).

    r = exp(-alpha z) where correct, z the length standardised over the group's
        correct samples; `wrong` elsewhere
    A = (r - mean) / (std + 1e-6)                                  ddof 1
    A <- A w(p) where A > 0, A w(1 - p) elsewhere
    w(x) = low + (high - low) / (1 + exp(slope (x - center)))

A group that is all correct still teaches brevity. `wrong` is -1, or 0 in the paper's
length-only ablation. The released code also skips the length reward for groups whose
three shortest completions average under 4000 tokens; that is left out.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import rewards, shapers
from agrae_jax.types import Method


def make(
    *,
    alpha: float = 0.05,
    wrong: float = -1.0,
    low: float = 0.4,
    high: float = 1.5,
    center: float = 0.75,
    slope: float = 10.0,
) -> Method:
    """Returns GRPO-LEAD."""
    if low > high:
        raise UserError(f"method.kwargs.low = {low} must be at most high = {high}")
    weigh = partial(
        shapers.logistic_difficulty, low=low, high=high, center=center, slope=slope
    )
    return dataclasses.replace(
        grpo.make(ddof=1),
        name="grpo_lead",
        paper="GRPO-LEAD, arXiv 2504.09696",
        formula="exp(-alpha z(length)) where correct; A w(p), A w(1 - p)",
        reward=partial(rewards.short_among_correct, alpha=alpha, wrong=wrong),
        shapers=(weigh,),
        zero_sum=False,
        dead_groups_zero=False,
    )
