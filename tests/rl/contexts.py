"""Builds the inputs of rl/ functions from short lists, for tests."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.stats import group_stats
from agrae_jax.types import STOP_EOS, AdvantageInput, RewardInput, TokenContext


def f32(x: Any) -> Array:
    return jnp.asarray(x, jnp.float32)


def reward_input(
    correct: Any, valid: Any = None, length: Any = None, stop: Any = None
) -> RewardInput:
    correct_BG = f32(correct)
    return RewardInput(
        correct_BG=correct_BG,
        format_ok_BG=jnp.ones_like(correct_BG),
        valid_BG=jnp.ones_like(correct_BG) if valid is None else f32(valid),
        length_BG=jnp.full(correct_BG.shape, 3) if length is None else _i32(length),
        stop_BG=jnp.full(correct_BG.shape, STOP_EOS) if stop is None else _i32(stop),
    )


def advantage_input(
    reward: Any,
    correct: Any = None,
    valid: Any = None,
    length: Any = None,
    ddof: int = 0,
) -> AdvantageInput:
    reward_BG = f32(reward)
    correct_BG = reward_BG if correct is None else f32(correct)
    valid_BG = jnp.ones_like(reward_BG) if valid is None else f32(valid)
    return AdvantageInput(
        reward_BG=reward_BG,
        correct_BG=correct_BG,
        valid_BG=valid_BG,
        length_BG=jnp.full(reward_BG.shape, 3) if length is None else _i32(length),
        stats=group_stats(reward_BG, correct_BG, valid_BG, ddof=ddof),
    )


def token_context(
    logprob: Any,
    *,
    old: Any = None,
    sampler: Any = None,
    ref: Any = None,
    entropy: Any = None,
    old_entropy: Any = None,
    mask: Any = None,
    weight: Any = None,
    selected: Any = None,
    statistic: Any = None,
    inputs: AdvantageInput | None = None,
) -> TokenContext:
    """`logprob` is [B, G, T]; old, sampler and reference log-probs default to it."""
    logprob_BGT = f32(logprob)
    mask_BGT = jnp.ones_like(logprob_BGT) if mask is None else f32(mask)
    if inputs is None:
        inputs = advantage_input(jnp.zeros(logprob_BGT.shape[:2]))
    old_BGT = logprob_BGT if old is None else f32(old)
    length_BG = jnp.sum(mask_BGT, -1).astype(jnp.int32)
    return TokenContext(
        mask_BGT=mask_BGT,
        weight_BGT=mask_BGT if weight is None else f32(weight),
        logprob_BGT=logprob_BGT,
        old_logprob_BGT=old_BGT,
        sampler_logprob_BGT=old_BGT if sampler is None else f32(sampler),
        ref_logprob_BGT=None if ref is None else f32(ref),
        entropy_BGT=None if entropy is None else f32(entropy),
        old_entropy_BGT=None if old_entropy is None else f32(old_entropy),
        length_BG=length_BG,
        stop_BG=jnp.full(length_BG.shape, STOP_EOS),
        correct_BG=inputs.correct_BG,
        valid_BG=inputs.valid_BG,
        reward_BG=inputs.reward_BG,
        stats=inputs.stats,
        selected_BGT=None if selected is None else f32(selected),
        statistic_BGT=None if statistic is None else f32(statistic),
    )


def one_row(logprob: Any, **arrays: Any) -> TokenContext:
    """A context of one completion: every argument is a list over T."""
    lift = {k: None if v is None else f32(v)[None, None] for k, v in arrays.items()}
    return token_context(f32(logprob)[None, None], **lift)


def _i32(x: Any) -> Array:
    return jnp.asarray(x, jnp.int32)
