"""From graded completions to the scalar that is minimised. Pure: arrays in, out.

    reward -> group statistics -> base advantage -> shapers        `advantages`
    credit and token mask (see step.py)                            advantage_BGT, keep
    sum(weight * (keep * importance * surrogate + regularizers))   `rlvr_loss`

Each part is a plain function held by a `Method`; nothing here knows a method by name.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.diagnostics import diagnostics
from agrae_jax.rl.masked import masked, masked_sum
from agrae_jax.rl.stats import group_stats
from agrae_jax.types import (
    AdvantageInput,
    Beside,
    Method,
    Metrics,
    RewardInput,
    TokenContext,
)

__all__ = ["advantages", "diagnostics", "rlvr_loss"]


def advantages(
    inputs: RewardInput, *, method: Method, beside: Beside | None = None
) -> tuple[AdvantageInput, Array]:
    """Returns what the base saw, and `advantage_BG` in float32 without gradient.

    Call it once on a whole rollout batch: omega is the success rate of all of it, or
    that of `beside` where groups were left out. An ungradable sample takes no part in
    any statistic and gets advantage 0.
    """
    beside = beside or Beside()
    correct_BG = masked(inputs.correct_BG.astype(jnp.float32), inputs.valid_BG)
    reward_BG = masked(method.reward(inputs).astype(jnp.float32), inputs.valid_BG)
    stats = group_stats(reward_BG, correct_BG, inputs.valid_BG, ddof=method.ddof)
    if beside.omega is not None:
        stats = dataclasses.replace(stats, omega=beside.omega)
    greedy_B = None
    if beside.greedy is not None:
        greedy_BG = masked(method.reward(beside.greedy), beside.greedy.valid_BG)
        greedy_B = greedy_BG[:, 0].astype(jnp.float32)
    seen = AdvantageInput(
        reward_BG=reward_BG,
        correct_BG=correct_BG,
        valid_BG=inputs.valid_BG,
        length_BG=inputs.length_BG,
        stats=stats,
        greedy_reward_B=greedy_B,
    )
    advantage_BG = method.base(seen)
    for shaper in method.shapers:
        advantage_BG = shaper(advantage_BG, seen)
    return jax.lax.stop_gradient((seen, masked(advantage_BG, inputs.valid_BG)))


def rlvr_loss(
    ctx: TokenContext,
    advantage_BGT: Array,
    keep_BGT: Array,
    method_state: Any,
    *,
    method: Method,
) -> tuple[Array, Metrics]:
    """Returns `sum(weight * (keep * importance * surrogate + regularizers))`.

    `ctx.weight_BGT` already holds the mask and every denominator of the optimizer
    batch: losses and gradients of its micro-batches add up to its own.
    """
    loss_BGT, metrics = method.surrogate(ctx, advantage_BGT)
    if method.importance is not None:
        loss_BGT = loss_BGT * method.importance(ctx)
    loss_BGT = loss_BGT * keep_BGT
    for regularizer in method.regularizers:
        term_BGT, term_metrics = regularizer(ctx, method_state)
        loss_BGT = loss_BGT + term_BGT
        metrics = metrics | term_metrics
    return masked_sum(ctx.weight_BGT * loss_BGT, ctx.mask_BGT), metrics
