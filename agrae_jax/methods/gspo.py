"""GSPO: clips the ratio of whole completions (2507.18071).

    s = exp(mean of log-ratios)       clipped to [1 - 3e-4, 1 + 4e-4], sequence mean

The paper takes 4 mini-batches a rollout: with one the ratio is always 1.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import grpo
from agrae_jax.rl import surrogates
from agrae_jax.types import Method


def make(*, ddof: int = 0, clip_low: float = 3e-4, clip_high: float = 4e-4) -> Method:
    """Returns GSPO on GRPO's advantages."""
    return dataclasses.replace(
        grpo.make(ddof=ddof),
        name="gspo",
        paper="GSPO, arXiv 2507.18071",
        formula="clip of exp(mean log-ratio)",
        surrogate=partial(surrogates.gspo, low=clip_low, high=clip_high),
    )
