"""Sampling: jitted prefill and decode over a group-structured cache, in waves.

A prompt is prefilled once; its G samples share that part of the cache. `segments.py`
runs the same two functions, `start` and `decode`, with smaller and smaller batches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from agrae_jax.draws import SampleSpec, draw_token, row_keys, uniform
from agrae_jax.sharding import constrain
from agrae_jax.types import (
    STOP_EOS,
    STOP_LENGTH,
    Params,
    Policy,
    PromptBatch,
    Rollout,
)

Rows = dict[str, Any]  # the state of the rows of a wave, by name
SampleFn = Callable[..., Rollout]  # (params, prompts, seed[, first sample])


def make_sampler(policy: Policy, spec: SampleSpec, *, out_shardings=None) -> SampleFn:
    """A jitted (params, prompts, seed[, first sample]) -> Rollout for one wave."""
    wave = functools.partial(_sample_wave, policy=policy, spec=spec)
    return jax.jit(wave, out_shardings=out_shardings)


def sample(
    params: Params,
    prompts: PromptBatch,
    seed: Array,
    *,
    wave: int,
    sampler: SampleFn,
    on_wave: Callable[[Rollout], None] | None = None,
    first: Array | None = None,
) -> Rollout:
    """Samples `wave` groups at a time (0 = all) and puts the rollouts together.

    `on_wave` gets every wave but the last, while those after it are sampled. `first`
    is the number of a group's first sample, where a group is drawn in parts.
    """
    total = prompts.tokens_BL.shape[0]
    which = (seed,) if first is None else (seed, first)
    if wave in (0, total):
        return sampler(params, prompts, *which)
    parts = [
        sampler(params, jax.tree.map(lambda x, i=i: x[i : i + wave], prompts), *which)
        for i in range(0, total, wave)
    ]
    if on_wave is not None:
        for part in parts[:-1]:
            on_wave(part)
    return jax.tree.map(lambda *xs: jnp.concatenate(xs), *parts)


def _sample_wave(
    params: Params,
    prompts: PromptBatch,
    seed: Array,
    first: Array | int = 0,
    *,
    policy: Policy,
    spec: SampleSpec,
) -> Rollout:
    bound = {"policy": policy, "spec": spec}
    weights, shared, rows = start(
        params, prompts, seed, first, width=spec.max_new_tokens, **bound
    )
    rows = decode(params, weights, shared, rows, spec.max_new_tokens, **bound)
    return to_rollout(prompts, rows)


def start(
    params: Params,
    prompts: PromptBatch,
    seed: Array,
    first: Array | int,
    *,
    policy: Policy,
    spec: SampleSpec,
    width: int,
) -> tuple[Params, Rows, Rows]:
    """Prefill and the first token: weights to decode with, shared part, row state.

    The cache has room for `width` tokens of every completion.
    """
    b, length = prompts.tokens_BL.shape
    g, t = spec.samples, spec.max_new_tokens
    keys_BG = row_keys(seed, prompts.draw_B, g, first)
    with jax.named_scope("prefill"):
        cache = policy.init_cache(b, g, length, width)
        hidden_BD, cache = policy.prefill(
            params, prompts.tokens_BL, prompts.length_B, cache
        )
    weights, cache = policy.decode_layout(params, cache)
    # Only what decode writes is carried: XLA may copy what passes through a loop.
    shared = dict(cache)
    completion = shared.pop("completion")
    # The first token of all G samples comes from one row of logits.
    token, logprob, entropy = _draw(
        params, hidden_BD[:, None], keys_BG, 0, policy, spec
    )
    rows = {
        "token": token,
        "done": _is_end(token, spec),
        "length": jnp.ones((b, g), jnp.int32),
        "completion": jnp.zeros((b, g, t), jnp.int32).at[..., 0].set(token),
        "logprob": jnp.zeros((b, g, t), jnp.float32).at[..., 0].set(logprob),
        "entropy": jnp.zeros((b, g, t), jnp.float32).at[..., 0].set(entropy),
        "key": keys_BG,
    }
    # Zeros belong nowhere: without a word every device would hold all of them.
    split = {
        name: constrain(x, ("batch", *[None] * (x.ndim - 1)), policy.rules["sample"])
        for name, x in rows.items()
    }
    return weights, shared, split | {"index": jnp.int32(1), "cache": completion}


def decode(
    params: Params,
    weights: Params,
    shared: Rows,
    rows: Rows,
    limit: Array | int,
    *,
    policy: Policy,
    spec: SampleSpec,
) -> Rows:
    """Draws token after token until `limit` tokens are there or all rows have ended."""
    keys_BG = rows["key"]

    def running(s: Rows) -> Array:
        return (s["index"] < limit) & ~s["done"].all()

    def advance(s: Rows) -> Rows:
        index, done = s["index"], s["done"]
        with jax.named_scope("decode"):
            hidden, after = policy.decode(
                weights, s["token"], index - 1, shared | {"completion": s["cache"]}
            )
        token, logprob, entropy = _draw(params, hidden, keys_BG, index, policy, spec)
        token = jnp.where(done, 0, token)

        def put(buffer: Array, value: Array) -> Array:
            value = jnp.where(done, 0, value).astype(buffer.dtype)
            return jax.lax.dynamic_update_slice(buffer, value[..., None], (0, 0, index))

        return {
            "index": index + 1,
            "token": token,
            "done": done | _is_end(token, spec),
            "length": s["length"] + ~done,
            "completion": put(s["completion"], token),
            "logprob": put(s["logprob"], logprob),
            "entropy": put(s["entropy"], entropy),
            "cache": after["completion"],
        }

    carried = {name: value for name, value in rows.items() if name != "key"}
    return jax.lax.while_loop(running, advance, carried) | {"key": keys_BG}


def to_rollout(prompts: PromptBatch, rows: Rows) -> Rollout:
    """What training and evaluation want of the rows' state."""
    return Rollout(
        prompts=prompts,
        completion_BGT=rows["completion"],
        length_BG=rows["length"],
        stop_BG=jnp.where(rows["done"], STOP_EOS, STOP_LENGTH).astype(jnp.int32),
        logprob_BGT=rows["logprob"],
        entropy_BGT=rows["entropy"],
    )


def _draw(
    params: Params,
    hidden: Array,
    keys_BG: Array,
    index: Array | int,
    policy: Policy,
    spec: SampleSpec,
) -> tuple[Array, Array, Array]:
    with jax.named_scope("draw"):
        logits = policy.unembed(params, hidden)
        logits = jnp.broadcast_to(logits, (*keys_BG.shape, logits.shape[-1]))
        return draw_token(logits, uniform(keys_BG, index), spec)


def _is_end(token_BG: Array, spec: SampleSpec) -> Array:
    return (token_BG[..., None] == jnp.asarray(spec.eos_ids, jnp.int32)).any(-1)


def completion_texts(rollout: Rollout, decode: Callable[[list[int]], str]) -> list:
    """Texts of the rows this process holds, [B][G]."""
    completion = np.asarray(rollout.completion_BGT)
    length = np.asarray(rollout.length_BG)
    return [
        [decode(row[:n].tolist()) for row, n in zip(rows, ns, strict=True)]
        for rows, ns in zip(completion, length, strict=True)
    ]
