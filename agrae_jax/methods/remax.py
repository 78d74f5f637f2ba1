"""ReMax: the reward of one greedy completion is the baseline (2310.10505).

    A = r - r(greedy completion of the same prompt)

Under the clipped loss with a token mean, as in today's codes; with `clip=False` the
plain `-A log pi` summed over each completion. Costs one more completion a prompt.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods import reinforce
from agrae_jax.rl import advantages
from agrae_jax.types import Method


def make(*, clip: bool = True) -> Method:
    """Returns ReMax."""
    return dataclasses.replace(
        reinforce.make(clip=clip),
        name="remax",
        paper="ReMax, arXiv 2310.10505",
        formula="r - r(greedy)",
        base=advantages.greedy_baseline,
        needs=frozenset({"greedy_rollout"}),
    )
