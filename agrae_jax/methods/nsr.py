"""NSR, negative sample reinforcement: -1 on wrong samples, only they train.

Of RLVR-Decomposed (2506.01347): correct samples leave the loss and its denominator.
If nothing is wrong, the gradient is zero.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.methods import reinforce
from agrae_jax.types import Method, RewardInput


def make() -> Method:
    """Returns NSR."""
    return dataclasses.replace(
        reinforce.make(correct=0.0, wrong=-1.0),
        name="nsr",
        paper="RLVR-Decomposed (NSR), arXiv 2506.01347",
        formula="-1 where wrong; only those train",
        select=_wrong_ones,
    )


def _wrong_ones(method_state: Any, inputs: RewardInput) -> Array:
    chosen_BG = (inputs.valid_BG > 0) & (inputs.correct_BG <= 0.5)
    return chosen_BG.astype(jnp.float32)
