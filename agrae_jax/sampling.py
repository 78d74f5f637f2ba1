"""Sampling: jitted prefill and decode over a group-structured cache, in waves.

A prompt is prefilled once; its G samples share that part of the cache. The noise of
a token is folded from (seed, draw, g, t), so no mesh, batch or wave changes it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from agrae_jax.types import (
    STOP_EOS,
    STOP_LENGTH,
    Params,
    Policy,
    PromptBatch,
    Rollout,
)

_BLOCK = 256  # vocabulary entries a block of the two-level inverse CDF


@dataclasses.dataclass(frozen=True)
class SampleSpec:
    """How to sample. `temperature` 0 is greedy; `top_k` 0 and `top_p` 1 are off."""

    samples: int  # G
    max_new_tokens: int  # T
    eos_ids: tuple[int, ...]
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


SampleFn = Callable[[Params, PromptBatch, Array], Rollout]


def make_sampler(policy: Policy, spec: SampleSpec, *, out_shardings=None) -> SampleFn:
    """A jitted (params, prompts, seed) -> Rollout for one wave of prompts."""
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
) -> Rollout:
    """Samples `wave` groups at a time (0 = all) and puts the rollouts together.

    `on_wave` gets every wave but the last, while those after it are sampled.
    """
    total = prompts.tokens_BL.shape[0]
    if wave in (0, total):
        return sampler(params, prompts, seed)
    parts = [
        sampler(params, jax.tree.map(lambda x, i=i: x[i : i + wave], prompts), seed)
        for i in range(0, total, wave)
    ]
    for part in parts[:-1] if on_wave else ():
        on_wave(part)
    return jax.tree.map(lambda *xs: jnp.concatenate(xs), *parts)


def _sample_wave(
    params: Params,
    prompts: PromptBatch,
    seed: Array,
    *,
    policy: Policy,
    spec: SampleSpec,
) -> Rollout:
    b, length = prompts.tokens_BL.shape
    g, t = spec.samples, spec.max_new_tokens
    keys_BG = _row_keys(seed, prompts.draw_B, g)

    def draw(hidden: Array, index: Array | int) -> tuple[Array, Array, Array]:
        with jax.named_scope("draw"):
            logits = policy.unembed(params, hidden)
            uniform_BG = _uniform(keys_BG, index)
            return draw_token(
                jnp.broadcast_to(logits, (b, g, logits.shape[-1])), uniform_BG, spec
            )

    def is_end(token_BG: Array) -> Array:
        ends = jnp.asarray(spec.eos_ids, jnp.int32)
        return (token_BG[..., None] == ends).any(-1)

    with jax.named_scope("prefill"):
        cache = policy.init_cache(b, g, length, t)
        hidden_BD, cache = policy.prefill(
            params, prompts.tokens_BL, prompts.length_B, cache
        )
    weights, cache = policy.decode_layout(params, cache)
    cache = dict(cache)
    # The first token of all G samples comes from one row of logits.
    token_BG, logprob_BG, entropy_BG = draw(hidden_BD[:, None], 0)
    state = {
        "index": jnp.int32(1),
        "token": token_BG,
        "done": is_end(token_BG),
        "length": jnp.ones((b, g), jnp.int32),
        "completion": jnp.zeros((b, g, t), jnp.int32).at[..., 0].set(token_BG),
        "logprob": jnp.zeros((b, g, t), jnp.float32).at[..., 0].set(logprob_BG),
        "entropy": jnp.zeros((b, g, t), jnp.float32).at[..., 0].set(entropy_BG),
        # Only what decode writes is carried: XLA may copy what passes through a loop.
        "cache": cache.pop("completion"),
    }

    def running(s):
        return (s["index"] < t) & ~s["done"].all()

    def advance(s):
        index, done = s["index"], s["done"]
        with jax.named_scope("decode"):
            hidden, after = policy.decode(
                weights, s["token"], index - 1, cache | {"completion": s["cache"]}
            )
        token, logprob, entropy = draw(hidden, index)
        token = jnp.where(done, 0, token)

        def put(buffer: Array, value: Array) -> Array:
            value = jnp.where(done, 0, value).astype(buffer.dtype)
            return jax.lax.dynamic_update_slice(buffer, value[..., None], (0, 0, index))

        return {
            "index": index + 1,
            "token": token,
            "done": done | is_end(token),
            "length": s["length"] + ~done,
            "completion": put(s["completion"], token),
            "logprob": put(s["logprob"], logprob),
            "entropy": put(s["entropy"], entropy),
            "cache": after["completion"],
        }

    state = jax.lax.while_loop(running, advance, state)
    return Rollout(
        prompts=prompts,
        completion_BGT=state["completion"],
        length_BG=state["length"],
        stop_BG=jnp.where(state["done"], STOP_EOS, STOP_LENGTH).astype(jnp.int32),
        logprob_BGT=state["logprob"],
        entropy_BGT=state["entropy"],
    )


def _row_keys(seed: Array, draw_B: Array, samples: int) -> Array:
    """A key for every sample, folded from (seed, draw, g)."""
    root = jax.random.key(seed)
    fold = jax.random.fold_in
    prompt_keys = jax.vmap(lambda draw: fold(root, draw))(draw_B)
    index_G = jnp.arange(samples, dtype=jnp.int32)
    return jax.vmap(lambda key: jax.vmap(lambda g: fold(key, g))(index_G))(prompt_keys)


def _uniform(keys_BG: Array, index: Array | int) -> Array:
    """One number in [0, 1) a sample, folded from its key and the token index."""

    def one(key: Array) -> Array:
        return jax.random.uniform(jax.random.fold_in(key, index))

    return jax.vmap(jax.vmap(one))(keys_BG)


def draw_token(
    logits_XV: Array, uniform_X: Array, spec: SampleSpec
) -> tuple[Array, Array, Array]:
    """Draws a token by inverting the CDF at `uniform`: (token, logprob, entropy).

    One random number a row, where a Gumbel draw takes V. Two levels (block sums, then
    inside the block) keep the float32 running sums short, hence exact. `logprob` is
    under the distribution that was drawn from, after temperature, top-k and top-p;
    `entropy` is before truncation. Greedy has log-probability 0 by that definition.
    """
    if spec.temperature == 0.0:
        shifted = logits_XV - logits_XV.max(-1, keepdims=True)
        weight = jnp.exp(shifted)
        total = weight.sum(-1)
        entropy = jnp.log(total) - (weight * shifted).sum(-1) / total
        token = logits_XV.argmax(-1).astype(jnp.int32)
        return token, jnp.zeros_like(total), entropy
    shifted = (logits_XV - logits_XV.max(-1, keepdims=True)) / spec.temperature
    weight = jnp.exp(shifted)
    total = weight.sum(-1)
    entropy = jnp.log(total) - (weight * shifted).sum(-1) / total
    kept = truncate(weight, top_k=spec.top_k, top_p=spec.top_p)

    vocab = kept.shape[-1]
    blocks = -(-vocab // _BLOCK)
    padding = [(0, 0)] * (kept.ndim - 1) + [(0, blocks * _BLOCK - vocab)]
    by_block = jnp.pad(kept, padding).reshape(*kept.shape[:-1], blocks, _BLOCK)
    sums = by_block.sum(-1)
    running = jnp.cumsum(sums, -1)
    target = uniform_X * running[..., -1]
    block = jnp.minimum((running <= target[..., None]).sum(-1), blocks - 1)

    def pick(x: Array) -> Array:
        return jnp.take_along_axis(x, block[..., None], -1)[..., 0]

    rest = target - (pick(running) - pick(sums))
    inside = jnp.take_along_axis(by_block, block[..., None, None], -2)[..., 0, :]
    offset = (jnp.cumsum(inside, -1) <= rest[..., None]).sum(-1)
    # Rounding may carry the target past the block's last weight: stay on a real token.
    last = _BLOCK - 1 - jnp.argmax((inside > 0)[..., ::-1], -1)
    offset = jnp.minimum(offset, last)
    chosen = jnp.take_along_axis(inside, offset[..., None], -1)[..., 0]
    token = (block * _BLOCK + offset).astype(jnp.int32)
    return token, jnp.log(chosen) - jnp.log(running[..., -1]), entropy


def truncate(weight_XV: Array, *, top_k: int, top_p: float) -> Array:
    """Zeroes weights outside the top k and the top-p nucleus; no sort.

    Both sets are {v: weight >= threshold}. The threshold is found by bisection on the
    bit pattern of the float32, which orders as the value does, so it is exact. Tokens
    that tie with the threshold are kept. Top-k comes first; top-p is of what it left.
    """

    def threshold(weight: Array, enough: Callable[[Array], Array]) -> Array:
        """The largest weight w for which `enough(weight >= w)` holds, by row."""
        low = jnp.zeros(weight.shape[:-1], jnp.int32)
        high = jax.lax.bitcast_convert_type(weight.max(-1), jnp.int32) + 1

        def halve(_, bounds):
            low, high = bounds
            middle = low + (high - low) // 2
            level = jax.lax.bitcast_convert_type(middle, jnp.float32)
            ok = enough(weight >= level[..., None])
            return jnp.where(ok, middle, low), jnp.where(ok, high, middle)

        low, _ = jax.lax.fori_loop(0, 31, halve, (low, high))
        return jax.lax.bitcast_convert_type(low, jnp.float32)

    if 0 < top_k < weight_XV.shape[-1]:
        level = threshold(weight_XV, lambda keep: keep.sum(-1) >= top_k)
        weight_XV = jnp.where(weight_XV >= level[..., None], weight_XV, 0.0)
    if top_p < 1.0:
        mass = top_p * weight_XV.sum(-1)

        def kept_mass(keep: Array) -> Array:
            return jnp.where(keep, weight_XV, 0.0).sum(-1)

        level = threshold(weight_XV, lambda keep: kept_mass(keep) >= mass)
        weight_XV = jnp.where(weight_XV >= level[..., None], weight_XV, 0.0)
    return weight_XV


def completion_texts(rollout: Rollout, decode: Callable[[list[int]], str]) -> list:
    """Texts of the rows this process holds, [B][G]."""
    completion = np.asarray(rollout.completion_BGT)
    length = np.asarray(rollout.length_BG)
    return [
        [decode(row[:n].tolist()) for row, n in zip(rows, ns, strict=True)]
        for rows, ns in zip(completion, length, strict=True)
    ]
