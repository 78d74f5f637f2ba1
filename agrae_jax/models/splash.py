"""Attention of whole rows on TPU, by jax's splash kernel.

One kernel call does a whole row [prefix | prompt | completion 1 | .. | completion G]:
the shared part and each completion's own part meet in the kernel's running softmax,
which is their merge by log-sum-exp. The group structure is a static mask, so that
blocks of keys that no query sees are never visited: a completion costs its prompt and
its own past, not the other completions. Nothing of the size of the scores is stored.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_kernel as kernels,
)
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_mask as masks,
)
from jax.sharding import PartitionSpec

BLOCKS = (512, 256, 128)  # rows and columns of a tile; the kernel asks for 128s


class GroupMask(masks.Mask):
    """Who sees whom in a row whose queries start `before` keys into it.

    All see the first `before` keys (the prefix). A prompt position sees the prompt up
    to itself, a completion position the whole prompt (its padding is another segment)
    and its own completion up to itself; rows beyond the last completion are padding
    that is laid out as further completions.
    """

    def __init__(self, before: int, prompt: int, new: int, queries: int, keys: int):
        self._sizes = (before, prompt, new, queries, keys)
        self.q_sequence = np.arange(queries, dtype=np.int32)
        self.mask_function = functools.partial(_seen, before, prompt, new)

    @property
    def shape(self) -> tuple[int, ...]:
        """(queries, keys)."""
        return self._sizes[3:]

    def __getitem__(self, idx: Any) -> np.ndarray:
        rows, columns = (
            np.arange(size, dtype=np.int32)[part]
            for size, part in zip(self.shape, idx, strict=True)
        )
        return self.mask_function(rows[:, None], columns[None, :])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupMask) and self._sizes == other._sizes

    def __hash__(self) -> int:
        return hash((GroupMask, self._sizes))


def _seen(before: int, prompt: int, new: int, query: Any, key: Any) -> Any:
    """Bool, of the places of queries (from 0) and keys (from -`before`)."""
    key = key - before
    past = key <= query
    if new == 0:  # prompts alone
        return past
    own = query - (query - prompt) % new  # where a query's completion starts
    return past & ((key < prompt) | (key >= own))


def attend_groups(
    query: Array,
    key: Array,
    value: Array,
    length_B: Array,
    *,
    samples: int,
    prompt: int,
    prefix: tuple[Array, Array] | None = None,
    rules: Mapping[str, Any],
    interpret: bool = False,
) -> Array:
    """What `attention.attend_groups` gives, of the same arrays.

    Groups and key heads are split over the mesh of `jax.set_mesh` by `rules`, since a
    kernel is one device's. `interpret` runs it without a TPU, slowly.
    """
    B, S, M, R, D = query.shape
    attend = functools.partial(
        _one_device, samples=samples, prompt=prompt, interpret=interpret
    )
    if prefix is not None:
        key, value = (
            jnp.concatenate([jnp.broadcast_to(x, (B, *x.shape[1:])), y], 1)
            for x, y in zip(prefix, (key, value), strict=True)
        )
    mesh = jax.sharding.get_abstract_mesh()
    if not mesh.empty:
        groups, heads = rules["batch"], rules["heads"]
        rows = PartitionSpec(groups, None, heads)
        attend = jax.shard_map(
            attend,
            in_specs=(rows, rows, rows, PartitionSpec(groups)),
            out_specs=rows,
            check_vma=False,
        )
    return attend(query, key, value, length_B).reshape(B, S, M * R, D)


def _one_device(
    query: Array,
    key: Array,
    value: Array,
    length_B: Array,
    *,
    samples: int,
    prompt: int,
    interpret: bool,
) -> Array:
    B, S, M, R, D = query.shape
    before = key.shape[1] - S
    kernel, block, tiles = _kernel(S, before, prompt, (S - prompt) // samples, M * R)
    queries, keys = _up(S, block), _up(before + S, block)
    place = jnp.arange(keys) - before
    padding_BK = (place >= length_B[:, None]) & (place < prompt)
    segment_BK = padding_BK.astype(jnp.int32)
    segment_BQ = _filled(segment_BK[:, before:], 1, queries)
    by_head = (
        _filled(x, 1, size).swapaxes(1, 2)
        for x, size in (
            (query.reshape(B, S, M * R, D), queries),
            (key, keys),
            (value, keys),
        )
    )
    kernel.kwargs["interpret"] = interpret
    segments = kernels.SegmentIds(q=segment_BQ, kv=segment_BK)
    # What one product of queries and keys costs, for `plan_cost`: a compiler cannot
    # look into a kernel.
    product = 2 * B * M * R * D * tiles * block**2
    with jax.named_scope(f"kernel_{product}_{block}"):
        out = jax.vmap(kernel)(*by_head, segments)
    return out[:, :, :S].swapaxes(1, 2).reshape(query.shape)


def _kernel(
    queries: int, before: int, prompt: int, new: int, heads: int
) -> tuple[Any, int, int]:
    """The kernel of these sizes on one device, its block, and the tiles it visits."""
    block = next((b for b in BLOCKS if queries >= b), BLOCKS[-1])
    names = ("block_q", "block_kv", "block_kv_compute", "block_q_dkv", "block_kv_dkv")
    names += ("block_kv_dkv_compute", "block_q_dq", "block_kv_dq")
    mask = GroupMask(
        before, prompt, new, _up(queries, block), _up(before + queries, block)
    )
    kernel = kernels.make_splash_mha(
        masks.MultiHeadMask([mask] * heads),
        block_sizes=kernels.BlockSizes(**dict.fromkeys(names, block)),
        head_shards=1,
        q_seq_shards=1,
    )
    return kernel, block, _tiles(mask, block)


@functools.cache
def _tiles(mask: GroupMask, block: int) -> int:
    """Tiles of a row in which any query sees any key."""
    queries, keys = mask.shape
    rows = [slice(i, i + block) for i in range(0, queries, block)]
    columns = [slice(i, i + block) for i in range(0, keys, block)]
    return sum(bool(mask[row, column].any()) for row in rows for column in columns)


def _up(size: int, block: int) -> int:
    return -(-size // block) * block


def _filled(x: Array, axis: int, size: int) -> Array:
    """Zeros after the end, up to `size` or cut to it."""
    x = jax.lax.slice_in_dim(x, 0, min(size, x.shape[axis]), axis=axis)
    pad = [(0, 0)] * x.ndim
    pad[axis] = (0, size - x.shape[axis])
    return jnp.pad(x, pad)
