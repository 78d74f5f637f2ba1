"""PSR, positive sample reinforcement: +1 on correct samples, only they train.

Of RLVR-Decomposed (2506.01347): wrong samples leave the loss and its denominator. If
nothing is correct, the gradient is zero.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.methods import reinforce
from agrae_jax.types import Method, RewardInput


def make() -> Method:
    """Returns PSR."""
    return dataclasses.replace(
        reinforce.make(correct=1.0, wrong=0.0),
        name="psr",
        paper="RLVR-Decomposed (PSR), arXiv 2506.01347",
        formula="+1 where correct; only those train",
        select=_correct_ones,
    )


def _correct_ones(method_state: Any, inputs: RewardInput) -> Array:
    chosen_BG = (inputs.valid_BG > 0) & (inputs.correct_BG > 0.5)
    return chosen_BG.astype(jnp.float32)
