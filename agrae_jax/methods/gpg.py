"""GPG, group policy gradient (2504.02546): no ratio, no clip, no deviation.

    A    = (samples / samples with a reward) * (r - mean)
    loss = -A log pi                                        token mean

The factor, over the whole rollout batch, makes up for groups that teach nothing.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods import grpo
from agrae_jax.rl import advantages, surrogates
from agrae_jax.types import Method


def make() -> Method:
    """Returns GPG."""
    return dataclasses.replace(
        grpo.make(reduction="token_mean"),
        name="gpg",
        paper="GPG, arXiv 2504.02546",
        formula="(samples / rewarded) (r - mean); -A log pi",
        base=advantages.group_center_rescaled,
        surrogate=surrogates.reinforce,
    )
