"""Experimental: Mu-GRPO, many updates on one large rollout, as described (2605.17570).

    ratio in [1 - clip_low, 1 + clip_high], wide, so that stale tokens keep a gradient;
    where A < 0, what follows the first token of ratio < veto_low (or > veto_high) is
    left out: the prefix that led there is no longer the policy's

A stage is one rollout batch: `rollout.prompts` takes the prompts of the whole stage and
`updates` (0: updates.mini_batches) the optimizer steps over it, all against the
log-probs of the policy that sampled. The paper's bounds and the rule of its veto were
not found: those here are ours.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import surrogates
from agrae_jax.types import Method, Schedule


def make(
    *,
    updates: int = 0,
    clip_low: float = 0.5,
    clip_high: float = 1.0,
    veto_low: float = 0.5,
    veto_high: float = 0.0,
) -> Method:
    """Returns GRPO with wide clips and the veto; a `veto_*` of 0 is off."""
    if updates < 0:
        raise UserError(f"method.kwargs.updates = {updates} must not be negative")
    if 0 < veto_high < 1:
        raise UserError(
            f"method.kwargs.veto_high = {veto_high} must be at least 1, or 0 for none"
        )
    clip = partial(
        surrogates.veto_clip,
        low=clip_low,
        high=clip_high,
        veto_low=veto_low,
        veto_high=veto_high,
    )
    return dataclasses.replace(
        grpo.make(),
        name="mu_grpo_like",
        paper="after Mu-GRPO, arXiv 2605.17570",
        formula="wide clip; after ratio < veto_low nothing where A < 0",
        surrogate=clip,
        schedule=Schedule(mini_batches=updates or None),
        status="experimental",
    )
