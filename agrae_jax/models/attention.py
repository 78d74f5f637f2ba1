"""Attention over the group structure: a prompt once, G completions against it.

Queries of one row are [prompt | completion 1 | ... | completion G]. A prompt position
sees the prompt up to itself; a completion position sees the real part of the group's
prompt, whose keys are never repeated, and its own completion up to itself. Both parts
share one softmax, in float32.

Letters here: M key/value heads, R query heads of each, D the width of one head, and
two key layouts that the CPU's matmuls want (no transposed copies): keys [.., D, T],
values [.., T, D].
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from agrae_jax.models.decoder_config import DecoderConfig
from agrae_jax.models.layers import Linear, precision, rotate

BLOCK = 1024  # queries whose scores are alive at once
MASKED = -1e30  # finite: a softmax over a masked score is 0 and has no NaN gradient


class Part(NamedTuple):
    """Keys and values that some queries see: leading axes as the queries'."""

    keys: Array  # [.., D, keys]
    values: Array  # [.., keys, D]
    seen: Array  # bool, broadcasts to [.., queries, keys]


class Attention(nnx.Module):
    """Projections of grouped-query attention (arXiv:2305.13245) with rotary angles."""

    def __init__(self, config: DecoderConfig, **options: Any):
        c = config
        self.kv_heads, self.head_dim = c.kv_heads, c.head_dim
        bias = c.qkv_bias
        self.query = Linear([c.width], [c.heads, c.head_dim], bias=bias, **options)
        self.key = Linear([c.width], [c.kv_heads, c.head_dim], bias=bias, **options)
        self.value = Linear([c.width], [c.kv_heads, c.head_dim], bias=bias, **options)
        self.out = Linear([c.heads, c.head_dim], [c.width], **options)

    def heads(self, x: Array) -> tuple[Array, Array, Array]:
        """Queries, keys and values [.., heads, D], before rotation."""
        return self.query(x), self.key(x), self.value(x)

    def project(self, x: Array, rope: tuple[Array, Array]) -> tuple[Array, ...]:
        """x to queries [.., M, R, D], scaled, and keys and values [.., M, D]."""
        query, key, value = self.heads(x)
        query = rotate(query, *rope, scale=self.head_dim**-0.5)
        query = query.reshape(*x.shape[:-1], self.kv_heads, -1, self.head_dim)
        return query, rotate(key, *rope), value


def attend(query: Array, *parts: Part) -> Array:
    """softmax over the keys of all parts together, times their values.

    query [.., queries, D]; the leading axes of every part are a prefix of the query's
    and the query's further ones share the part (no repetition). Scores, softmax and
    sums are float32.
    """
    exact = precision(query.dtype)
    scores = [_scores(query, part, exact) for part in parts]
    top = functools.reduce(jnp.maximum, [jnp.max(s, -1) for s in scores])
    top = jax.lax.stop_gradient(top)[..., None]
    weights = [jnp.exp(s - top) for s in scores]
    total = sum(jnp.sum(w, -1, keepdims=True) for w in weights)
    mixed = [_mix(w, part, exact) for w, part in zip(weights, parts, strict=True)]
    return (functools.reduce(jnp.add, mixed) / total).astype(query.dtype)


def _scores(query: Array, part: Part, exact: Any) -> Array:
    batch = part.keys.ndim - 2
    score = jax.lax.dot_general(
        query,
        part.keys,
        (((query.ndim - 1,), (batch,)), (tuple(range(batch)), tuple(range(batch)))),
        precision=exact,
        preferred_element_type=jnp.float32,
    )
    return jnp.where(part.seen, score, MASKED)


def _mix(weight: Array, part: Part, exact: Any) -> Array:
    batch = part.values.ndim - 2
    return jax.lax.dot_general(
        weight.astype(part.values.dtype),
        part.values,
        (((weight.ndim - 1,), (batch,)), (tuple(range(batch)), tuple(range(batch)))),
        precision=exact,
        preferred_element_type=jnp.float32,
    )


def attend_groups(
    query: Array,
    key: Array,
    value: Array,
    length_B: Array,
    *,
    samples: int,
    prompt: int,
    prefix: tuple[Array, Array] | None = None,
    block: int = BLOCK,
) -> Array:
    """Attention of whole rows [prompt | completion 1 | ... | completion `samples`].

    query [B, prompt + samples T, M, R, D], key and value [.., M, D]; the result is
    [B, prompt + samples T, M R, D]. `prefix` is keys and values [1, P, M, D] that stand
    before every prompt and that all of it sees. At most `block` queries of a row have
    their scores alive at once: a longer row is done in blocks, recomputed in the
    backward pass.
    """
    B, S, M, R, D = query.shape
    G, L = samples, prompt
    T = (S - L) // G

    prompt_keys, prompt_values = prompt_part(key[:, :L], value[:, :L], prefix)
    prompt_query = query[:, :L].transpose(0, 2, 3, 1, 4)  # [B, M, R, L, D]
    before = prompt_values.shape[-2] - L
    place = jnp.arange(before + L)

    def prompt_block(query: Array, start: Any) -> Array:
        last = before + start + jnp.arange(query.shape[-2])[:, None]
        return attend(query, Part(prompt_keys, prompt_values, place <= last))

    prompt_out = _in_query_blocks(prompt_block, prompt_query, block)
    prompt_out = prompt_out.transpose(0, 3, 1, 2, 4).reshape(B, L, M * R, D)
    if T == 0:
        return prompt_out

    real = place < before + length_B[:, None]
    shared = Part(prompt_keys, prompt_values, real[:, None, None, None, None])
    split = query[:, L:].reshape(B, G, T, M, R, D).transpose(0, 3, 1, 4, 2, 5)
    keys = key[:, L:].reshape(B, G, T, M, D).transpose(0, 3, 1, 4, 2)
    values = value[:, L:].reshape(B, G, T, M, D).transpose(0, 3, 1, 2, 4)

    def completions(query: Array, keys: Array, values: Array) -> Array:
        def completion_block(query: Array, start: Any) -> Array:
            seen = jnp.arange(T) <= start + jnp.arange(query.shape[-2])[:, None]
            return attend(query, shared, Part(keys, values, seen))

        return _in_query_blocks(completion_block, query, block)

    out = _in_sample_blocks(completions, (split, keys, values), max(1, block // T))
    out = out.transpose(0, 2, 4, 1, 3, 5).reshape(B, G * T, M * R, D)
    return jnp.concatenate([prompt_out, out], 1)


def attend_one(
    query: Array, prompt: Part, completion_keys: Array, completion_values: Array, index
) -> Array:
    """Attention of one new token a row: query [B, G, M, R, D] to [B, G, M R, D].

    The prompt's keys meet all G M queries of a group in one matmul; of the completion
    buffer, [B, M, G, D, T] and [B, M, G, T, D], tokens up to `index` are seen.
    """
    B, G, M, R, D = query.shape
    seen = jnp.arange(completion_values.shape[-2]) <= index
    own = Part(completion_keys, completion_values, seen)
    out = attend(query.transpose(0, 2, 1, 3, 4), prompt, own)
    return out.transpose(0, 2, 1, 3, 4).reshape(B, G, M * R, D)


def prompt_part(
    key: Array, value: Array, prefix: tuple[Array, Array] | None
) -> tuple[Array, Array]:
    """[B, L, M, D] twice to keys [B, M, D, P + L] and values [B, M, P + L, D]."""
    if prefix is not None:
        whole = [
            jnp.concatenate([jnp.broadcast_to(x, (len(y), *x.shape[1:])), y], 1)
            for x, y in zip(prefix, (key, value), strict=True)
        ]
        key, value = whole
    return key.transpose(0, 2, 3, 1), value.transpose(0, 2, 1, 3)


def _in_query_blocks(fn: Any, query: Array, block: int) -> Array:
    """fn(query block, its first position) over blocks of the last but one axis."""
    count = query.shape[-2]
    if count <= block:
        return fn(query, 0)
    blocks = -(-count // block)
    pad = [(0, 0)] * (query.ndim - 2) + [(0, blocks * block - count), (0, 0)]
    padded = jnp.pad(query, pad)
    split = padded.reshape(*query.shape[:-2], blocks, block, query.shape[-1])
    starts = jnp.arange(blocks) * block
    one = jax.checkpoint(lambda x: fn(*x), prevent_cse=False)
    out = jax.lax.map(one, (jnp.moveaxis(split, -3, 0), starts))
    return jnp.moveaxis(out, 0, -3).reshape(padded.shape)[..., :count, :]


def _in_sample_blocks(fn: Any, arrays: tuple[Array, ...], most: int) -> Array:
    """fn over blocks of at most `most` samples, axis 2 of every array."""
    samples = arrays[0].shape[2]
    size = max(n for n in range(1, samples + 1) if samples % n == 0 and n <= most)
    if size == samples:
        return fn(*arrays)

    def split(x: Array) -> Array:
        parts = x.reshape(*x.shape[:2], samples // size, size, *x.shape[3:])
        return jnp.moveaxis(parts, 2, 0)

    one = jax.checkpoint(lambda x: fn(*x), prevent_cse=False)
    out = jnp.moveaxis(jax.lax.map(one, tuple(map(split, arrays))), 0, 2)
    return out.reshape(*out.shape[:2], samples, *out.shape[4:])
