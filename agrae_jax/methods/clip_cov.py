"""Clip-Cov: a few tokens of high covariance do not train (2505.22617).

    covariance = (A - mean A) (log pi - mean log pi)     means over the batch's tokens

Of the tokens with a covariance in (lower, upper) a random share of all tokens, at
least one, gets loss 0. Those tokens drive the fall of entropy. The recipe's PPO clip
is [0, 2], which seldom binds.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import token_masks
from agrae_jax.types import Method


def make(
    *,
    share: float = 2e-4,
    lower: float = 1.0,
    upper: float = 5.0,
    clip_low: float = 1.0,
    clip_high: float = 1.0,
) -> Method:
    """Returns Clip-Cov on GRPO; `share` of all tokens is dropped."""
    if lower >= upper:
        raise UserError(f"method.kwargs.lower = {lower} must be below upper = {upper}")
    drop = partial(
        token_masks.clip_covariance,
        share=share,
        lower=lower,
        upper=upper,
        low=clip_low,
        high=clip_high,
    )
    return dataclasses.replace(
        grpo.make(clip_low=clip_low, clip_high=clip_high, reduction="token_mean"),
        name="clip_cov",
        paper="Clip-Cov, arXiv 2505.22617",
        formula="random tokens with lower < cov(A, log pi) < upper get loss 0",
        token_mask=drop,
        needs=frozenset({"current_first_pass"}),
    )
