"""DAPO, decoupled clip and dynamic sampling (2503.14476).

    clip-higher       ratio in [1 - 0.2, 1 + 0.28]
    token mean        every token of the optimizer batch counts the same
    overlong_cache    > 0: rewards of +-1, less a penalty that grows over the last
                      `overlong_cache` of `max_tokens` tokens (eq. 13)
    overlong_filter   truncated completions leave the loss, not the statistics
    dynamic_sampling  groups that are all right or all wrong leave the batch; further
                      prompts are sampled for them, up to `max_batches` rollout batches

By default the form that A-GRAE compares with: the first two. The paper's runs also
use the penalty (max_tokens 20480, overlong_cache 4096) and dynamic sampling. At
`max_batches` the groups that are lacking stay out of the loss; verl stops there. omega
is of all that was sampled. The paper's token mean is over a group, every known code's
over the batch.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo, with_state
from agrae_jax.rl import rewards
from agrae_jax.types import STOP_LENGTH, AdvantageInput, Method, Metrics, RewardInput


def make(
    *,
    ddof: int = 0,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    overlong_cache: int = 0,
    max_tokens: int = 20480,
    overlong_filter: bool = False,
    dynamic_sampling: bool = False,
    max_batches: int = 10,
) -> Method:
    """Returns DAPO; `max_tokens` is the completion budget of the overlong penalty."""
    if not 0 <= overlong_cache <= max_tokens:
        raise UserError(
            f"method.kwargs.overlong_cache = {overlong_cache} must lie in 0 .. "
            f"max_tokens = {max_tokens}"
        )
    if max_batches < 1:
        raise UserError(f"method.kwargs.max_batches = {max_batches} must be at least 1")
    method = grpo.make(
        ddof=ddof, clip_low=clip_low, clip_high=clip_high, reduction="token_mean"
    )
    reward = partial(
        rewards.overlong, wrong=-1.0, max_tokens=max_tokens, cache=overlong_cache
    )
    chosen = partial(_select, mixed=dynamic_sampling, ended=overlong_filter)
    method = dataclasses.replace(
        method,
        name="dapo",
        paper="DAPO, arXiv 2503.14476",
        formula="ratio in [1 - 0.2, 1 + 0.28], token mean; overlong reward (13)",
        reward=reward if overlong_cache else method.reward,
        select=chosen if dynamic_sampling or overlong_filter else None,
        dead_groups_zero=not overlong_cache,  # lengths still differ
    )
    if not dynamic_sampling or max_batches == 1:
        return method
    refilled = dataclasses.replace(method, refill=max_batches)
    return with_state(refilled, "rounds", lambda: jnp.int32(0), _keep)


def _keep(
    rounds: Any, inputs: AdvantageInput, advantage_BG: Array, metrics: Metrics
) -> Any:
    return rounds  # counted by `feed.py`, which draws them


def _select(
    method_state: Any, inputs: RewardInput, *, mixed: bool, ended: bool
) -> Array:
    """Returns which completions enter the loss, by correctness and stop, [B, G]."""
    valid_BG = inputs.valid_BG > 0
    some_right_B1 = jnp.any(valid_BG & (inputs.correct_BG > 0.5), -1, keepdims=True)
    some_wrong_B1 = jnp.any(valid_BG & (inputs.correct_BG < 0.5), -1, keepdims=True)
    train_BG = some_right_B1 & some_wrong_B1 if mixed else valid_BG | True
    if ended:
        train_BG = train_BG & (inputs.stop_BG != STOP_LENGTH)
    return train_BG.astype(jnp.float32)
