"""Advantages that a method gives at every success rate, by the method's own code."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from agrae_jax import methods
from agrae_jax.rl import loss
from agrae_jax.types import STOP_EOS, Beside, RewardInput

SAMPLES = 64
COUNTS = np.arange(1, SAMPLES)  # p = 0 and 1 have one verdict only
RATES = (COUNTS / SAMPLES).tolist()


def advantages(name: str, *, omega: float = 0.5, **kwargs: Any) -> np.ndarray:
    """Advantages of groups of 64 with 1 to 63 right ones, [63, 64]: those first."""
    correct_BG = (np.arange(SAMPLES) < COUNTS[:, None]).astype(np.float32)
    ones = jnp.ones(correct_BG.shape)
    inputs = RewardInput(
        correct_BG=jnp.asarray(correct_BG),
        format_ok_BG=ones,
        valid_BG=ones,
        length_BG=ones.astype(jnp.int32),
        stop_BG=jnp.full(correct_BG.shape, STOP_EOS),
    )
    method = methods.resolve(name, **kwargs)
    beside = Beside(omega=jnp.float32(omega))
    return np.asarray(loss.advantages(inputs, method=method, beside=beside)[1])


def of_right(name: str, **kwargs: Any) -> list[float]:
    """The advantage of a right completion at each success rate."""
    return advantages(name, **kwargs)[:, 0].tolist()


def of_wrong(name: str, **kwargs: Any) -> list[float]:
    """The advantage of a wrong completion at each success rate."""
    return advantages(name, **kwargs)[:, -1].tolist()


def mean_sum(name: str, **kwargs: Any) -> list[float]:
    """The sum of a group's advantages over G."""
    return advantages(name, **kwargs).mean(-1).tolist()


def magnitude(name: str, **kwargs: Any) -> list[float]:
    """The sum of a group's |advantages| over G."""
    return np.abs(advantages(name, **kwargs)).mean(-1).tolist()
