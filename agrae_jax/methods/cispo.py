"""CISPO: clips the weight of a token, never its gradient (MiniMax-M1, 2506.13585).

    loss = -sg(clip(ratio, 1 - low, 1 + high)) A log pi           token mean

The paper has no lower bound (`clip_low` >= 1 is none) and gives no upper one; 0.28 is
DAPO's. Other codes: verl clips below too, TRL caps the ratio at 5 (`clip_high` 4).
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import grpo
from agrae_jax.rl import surrogates
from agrae_jax.types import Method


def make(*, ddof: int = 0, clip_low: float = 1.0, clip_high: float = 0.28) -> Method:
    """Returns CISPO on GRPO's advantages."""
    return dataclasses.replace(
        grpo.make(ddof=ddof, reduction="token_mean"),
        name="cispo",
        paper="CISPO (MiniMax-M1), arXiv 2506.13585",
        formula="-sg(clip(ratio, 1 - low, 1 + high)) A log pi",
        surrogate=partial(surrogates.cispo, low=clip_low, high=clip_high),
    )
