"""REINFORCE without a baseline: +1 where correct, -1 where wrong.

As in AsymGRPO (2604.04894), whose exponents 0 and 0 give it: the clipped loss of
GRPO, averaged over tokens. With `clip=False` the plain `-A log pi` summed over each
completion.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import advantages, reductions, surrogates
from agrae_jax.types import Method


def make(*, correct: float = 1.0, wrong: float = -1.0, clip: bool = True) -> Method:
    """Returns REINFORCE with the given reward of either verdict."""
    if wrong >= correct:
        raise UserError(
            f"method.kwargs.wrong = {wrong} must be below correct = {correct}"
        )
    method = grpo.make(reduction="token_mean")
    return dataclasses.replace(
        method,
        name="reinforce",
        paper="REINFORCE as in AsymGRPO, arXiv 2604.04894",
        formula="+1 where correct, -1 where wrong",
        base=partial(advantages.sign, correct=correct, wrong=wrong),
        surrogate=method.surrogate if clip else surrogates.reinforce,
        reduction=method.reduction if clip else reductions.sequence_sum,
        zero_sum=False,
        dead_groups_zero=False,
    )
