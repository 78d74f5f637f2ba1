"""GMPO: the geometric mean of clipped token ratios (2507.20673).

    loss = -A exp(mean of d),   d = min(log-ratio, high) where A > 0,
                                    max(log-ratio, -low) elsewhere

averaged over completions; the bounds are in log space.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import grpo
from agrae_jax.rl import surrogates
from agrae_jax.types import Method


def make(*, ddof: int = 0, clip_low: float = 0.4, clip_high: float = 0.4) -> Method:
    """Returns GMPO on GRPO's advantages."""
    return dataclasses.replace(
        grpo.make(ddof=ddof),
        name="gmpo",
        paper="GMPO, arXiv 2507.20673",
        formula="-A exp(mean of one-sidedly clipped log-ratios)",
        surrogate=partial(surrogates.gmpo, low=clip_low, high=clip_high),
    )
