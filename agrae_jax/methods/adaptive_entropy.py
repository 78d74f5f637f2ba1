"""An entropy bonus that a target switches on (Skywork-OR1, 2505.22312).

    loss - c [mean entropy <= target] entropy
    c <- c + delta while the entropy is at most the target, else c - delta; in [0, 1]

The entropy compared is that of the step's rollouts; c is in the checkpoint. The
defaults are TRL's.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.methods import resolve, with_state
from agrae_jax.rl import regularizers
from agrae_jax.types import AdvantageInput, Method, Metrics


def make(
    *,
    base: str = "grpo",
    target: float = 0.2,
    delta: float = 0.005,
    start: float = 0.01,
) -> Method:
    """Returns `base` with the bonus; `target` in nats a token, `start` the first c."""
    under = resolve(base)
    method = dataclasses.replace(
        under,
        name="adaptive_entropy",
        paper="Adaptive entropy (Skywork-OR1), arXiv 2505.22312",
        formula="loss - c [H <= target] H; c +- delta",
        regularizers=(*under.regularizers, regularizers.adaptive_entropy_bonus),
        needs=under.needs | {"token_entropy"},
    )
    adapt = partial(regularizers.adapt_entropy, target=target, delta=delta)

    def update(
        kept: Any, inputs: AdvantageInput, advantage_BG: Array, metrics: Metrics
    ) -> Array:
        return adapt(kept, metrics)

    return with_state(
        method,
        "adaptive_entropy",
        lambda: jnp.stack([jnp.float32(0), jnp.float32(start)]),
        update,
    )
