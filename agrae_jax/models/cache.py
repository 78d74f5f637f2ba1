"""The decode cache: a prompt part once per group, a completion part per sample.

    {"prompt":     {"keys": [K, B, M, D, L],    "values": [K, B, M, L, D]},
     "completion": {"keys": [K, B, M, G, D, T], "values": [K, B, M, G, T, D]},
     "length_B"}    K layers, M key heads of size D

The layers may be stacked, as above, or apart: a list of K parts without the axis K.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.models.decoder_config import DecoderConfig
from agrae_jax.sharding import constrain

# Of a cache's parts, axes counted from the end: layers may be stacked or apart.
CACHE = {
    "prompt": ("batch", "heads", None, None),
    "completion": ("batch", "heads", None, None, None),
}


def split(cache: Any, rules: Mapping[str, Any]) -> Any:
    """The cache, split over the mesh: nothing else says so where a program ends."""

    def part(axes: tuple[str | None, ...], x: Array) -> Array:
        return constrain(x, (None,) * (x.ndim - len(axes)) + axes, rules)

    parts = {
        name: jax.tree.map(functools.partial(part, axes), cache[name])
        for name, axes in CACHE.items()
    }
    return cache | parts | {"length_B": part(("batch",), cache["length_B"])}


def init(config: DecoderConfig, B: int, G: int, L: int, T: int, *, dtype: Any) -> Any:
    """Zeros; the prompt part is held once for the G samples of a group."""
    K, M, D = config.layers, config.kv_heads, config.head_dim

    def zeros(*shape: int) -> Array:
        return jnp.zeros((K, B, M, *shape), dtype)

    return {
        "prompt": {"keys": zeros(D, L), "values": zeros(L, D)},
        "completion": {"keys": zeros(G, D, T), "values": zeros(G, T, D)},
        "length_B": jnp.zeros((B,), jnp.int32),
    }


def resize(cache: Any, group_N: Array, sample_NH: Array, T: int) -> Any:
    """The cache of some groups and samples, with room for T tokens.

    Works on stacked layers and on layers apart: axes are counted from the end.
    """

    def groups(x: Array) -> Array:
        return jnp.take(x, group_N, -4)  # of [B, M, D, L] and [B, M, L, D]

    def rows(x: Array, axis: int) -> Array:  # of [B, M, G, D, T] and [.., T, D]
        pick = sample_NH[:, None, :, None, None]
        x = jnp.take_along_axis(jnp.take(x, group_N, -5), pick, -3)
        pad = [(0, 0)] * x.ndim
        pad[axis] = (0, T - x.shape[axis])
        return jnp.pad(x, pad)

    def both(part: Any) -> Any:
        return {"keys": rows(part["keys"], -1), "values": rows(part["values"], -2)}

    completion = cache["completion"]
    apart = isinstance(completion, list)
    return {
        "prompt": jax.tree.map(groups, cache["prompt"]),
        "completion": [both(x) for x in completion] if apart else both(completion),
        "length_B": cache["length_B"][group_N],
    }
