"""W-REINFORCE: wrong samples count in full, correct ones by a weight (2506.01347).

    A = weight where correct, -1 where wrong          clipped loss, token mean

No baseline: a group that is all wrong is pushed down, one that is all right is pushed
up. The paper's code defaults to weight 1 and recommends 0.1.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.errors import UserError
from agrae_jax.methods import reinforce
from agrae_jax.types import Method


def make(*, weight: float = 0.1) -> Method:
    """Returns W-REINFORCE; `weight` is that of correct samples."""
    if weight < 0:
        raise UserError(f"method.kwargs.weight = {weight} must not be negative")
    return dataclasses.replace(
        reinforce.make(correct=weight, wrong=-1.0),
        name="w_reinforce",
        paper="RLVR-Decomposed (W-REINFORCE), arXiv 2506.01347",
        formula="weight where correct, -1 where wrong",
    )
