"""Dr. GRPO, GRPO done right (2503.20783).

    A    = r - mean                                    in each group, no std
    loss = sum of clipped token losses / (rows * token budget)

Dividing by the deviation favours very easy and very hard prompts; dividing by the
length of a completion favours long wrong ones. Neither is done here.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods import grpo
from agrae_jax.rl import advantages, reductions
from agrae_jax.types import Method


def make(
    *, clip_low: float = 0.2, clip_high: float = 0.2, dual_clip: float = 0.0
) -> Method:
    """Returns Dr. GRPO; `dual_clip` > 1, or 0 for none."""
    return dataclasses.replace(
        grpo.make(clip_low=clip_low, clip_high=clip_high, dual_clip=dual_clip),
        name="dr_grpo",
        paper="Dr. GRPO, arXiv 2503.20783",
        formula="r - mean; sum / (rows * token budget)",
        base=advantages.group_center,
        reduction=reductions.fixed_length,
    )
