"""Runs one method on short lists, for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax import methods
from agrae_jax.rl import loss
from agrae_jax.types import Metrics
from tests.rl.contexts import f32, reward_input, token_context


def group(correct: int, samples: int) -> list[float]:
    return [1.0] * correct + [0.0] * (samples - correct)


def advantages_of(name: str, correct: Any, **kwargs: Any) -> Array:
    """`correct` is [B, G]; `length`, `valid` and `stop` go to the inputs."""
    seen = {k: kwargs.pop(k) for k in ("length", "valid", "stop") if k in kwargs}
    method = methods.resolve(name, **kwargs)
    return loss.advantages(reward_input(correct, **seen), method=method)[1]


def loss_of(
    name: str, logprob: Any, advantage: Any, *, arrays: Any = None, **kwargs: Any
) -> tuple[Array, Metrics]:
    """The reduced loss of [B, G, T] log-probs whose old ones are 0 unless given."""
    method = methods.resolve(name, **kwargs)
    logprob_BGT = f32(logprob)
    arrays = {"old": jnp.zeros(logprob_BGT.shape), **(arrays or {})}
    mask_BGT = f32(arrays.pop("mask", jnp.ones(logprob_BGT.shape)))
    weight_BGT = method.reduction(mask_BGT, logprob_BGT.shape[-1])
    ctx = token_context(logprob_BGT, mask=mask_BGT, weight=weight_BGT, **arrays)
    keep_BGT = jnp.ones(mask_BGT.shape)
    if method.token_select is not None:
        selected_BGT = method.token_select(ctx, f32(advantage) * mask_BGT)
        ctx = dataclasses.replace(ctx, selected_BGT=selected_BGT)
    advantage_BGT = f32(advantage) * mask_BGT
    if method.token_mask is not None:
        keep_BGT = method.token_mask(ctx, advantage_BGT)
    return loss.rlvr_loss(
        ctx, advantage_BGT, keep_BGT, method.init_state(), method=method
    )
