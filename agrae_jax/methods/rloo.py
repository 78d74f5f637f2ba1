"""RLOO, REINFORCE leave-one-out (2402.14740): r - mean of the others' rewards.

Today's codes put it under the clipped loss with a token mean, as here; with
`clip=False` the plain `-A log pi` summed over each completion.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods import reinforce
from agrae_jax.rl import advantages
from agrae_jax.types import Method


def make(*, clip: bool = True) -> Method:
    """Returns RLOO."""
    return dataclasses.replace(
        reinforce.make(clip=clip),
        name="rloo",
        paper="RLOO, arXiv 2402.14740",
        formula="r - mean of the others",
        base=advantages.leave_one_out,
        zero_sum=True,
        dead_groups_zero=True,
    )
