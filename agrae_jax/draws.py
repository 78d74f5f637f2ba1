"""Drawing tokens: one uniform number a token, turned into a token by the CDF.

The noise of a token is folded from (seed, draw, g, t), so no mesh, batch or wave
changes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

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
    segment: int = 0  # tokens between two looks at which rows have ended; 0 = never


def row_keys(seed: Array, draw_B: Array, samples: int, first: Array | int = 0) -> Array:
    """A key for every sample, folded from (seed, draw, g); g starts at `first`."""
    root = jax.random.key(seed)
    fold = jax.random.fold_in
    prompt_keys = jax.vmap(lambda draw: fold(root, draw))(draw_B)
    index_G = first + jnp.arange(samples, dtype=jnp.int32)
    return jax.vmap(lambda key: jax.vmap(lambda g: fold(key, g))(index_G))(prompt_keys)


def uniform(keys_BG: Array, index: Array | int) -> Array:
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
