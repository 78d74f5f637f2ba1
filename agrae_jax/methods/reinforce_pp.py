"""REINFORCE++: rewards whitened over all tokens of the batch (2501.03262).

    A = (r - m) / sqrt(v + 1e-8)      m, v over the tokens of the rollout batch

with the clipped loss and a token mean. `group_baseline` subtracts the group's mean
first (REINFORCE++-baseline). No discount (gamma 1, as everywhere) and no KL in the
reward, so the return of each token is the reward of its completion.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import grpo
from agrae_jax.rl import advantages
from agrae_jax.types import Method


def make(*, group_baseline: bool = False) -> Method:
    """Returns REINFORCE++, or its form with a group baseline."""
    return dataclasses.replace(
        grpo.make(reduction="token_mean"),
        name="reinforce_pp",
        paper="REINFORCE++, arXiv 2501.03262",
        base=partial(advantages.whiten, group_baseline=group_baseline),
        zero_sum=False,
        dead_groups_zero=False,
    )
