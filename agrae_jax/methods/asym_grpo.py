"""AsymGRPO: advantages as powers of the odds, one exponent a sign (2604.04894).

    A = ((1 - p) / p)^beta_pos       where correct
    A = -(p / (1 - p))^beta_neg      where wrong

1/2 and 1/2 is GRPO with the population's deviation, 0 and 0 is REINFORCE. The paper's
best is 0.9 and 0.4 under clip-higher; its ablations are 0.5 and 0, 0 and 0.5. With
exponents other than 1/2 a group's advantages do not sum to zero.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import advantages
from agrae_jax.types import Method


def make(
    *,
    beta_pos: float = 0.9,
    beta_neg: float = 0.4,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
) -> Method:
    """Returns AsymGRPO; exponents >= 0 (for flipped ones see asym_flip_like)."""
    for key, value in (("beta_pos", beta_pos), ("beta_neg", beta_neg)):
        if value < 0:
            raise UserError(
                f"method.kwargs.{key} = {value} must not be negative; a flipped curve "
                "is method.name = 'asym_flip_like'"
            )
    return dataclasses.replace(
        grpo.make(clip_low=clip_low, clip_high=clip_high, reduction="token_mean"),
        name="asym_grpo",
        paper="AsymGRPO, arXiv 2604.04894",
        formula="((1 - p) / p)^beta_pos, -(p / (1 - p))^beta_neg (5)",
        base=partial(advantages.odds_power, beta_pos=beta_pos, beta_neg=beta_neg),
        zero_sum=beta_pos == beta_neg == 0.5,
        dead_groups_zero=beta_pos > 0 and beta_neg > 0,
    )
