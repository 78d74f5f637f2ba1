"""Sampling without waiting for the slowest: rows that have ended leave the batch.

Decoding stops after every segment of tokens. Where at most half the rows are alive the
batch is halved, in groups or in samples of a group, and the buffer of completion keys
grows by doubling: a closed set of shapes, each compiled once. Noise belongs to the
row, so a sample is the same whoever shares its batch.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax import sampling
from agrae_jax.draws import SampleSpec
from agrae_jax.sampling import Rows
from agrae_jax.types import Params, Policy, PromptBatch, Rollout

OUTPUTS = ("done", "length", "completion", "logprob", "entropy")


class SegmentSampler:
    """(params, prompts, seed[, first sample]) -> Rollout of one wave.

    `spec.segment` is the number of tokens between two looks at who has ended;
    `multiple` divides every number of groups (devices on the batch axis).
    """

    def __init__(
        self,
        policy: Policy,
        spec: SampleSpec,
        *,
        multiple: int = 1,
        out_shardings: Any = None,
    ):
        self._multiple, self._spec = multiple, spec
        bound = {"policy": policy, "spec": spec}
        width = min(spec.segment, spec.max_new_tokens)
        self._start = jax.jit(functools.partial(sampling.start, width=width, **bound))
        self._decode = jax.jit(functools.partial(_decode, **bound), donate_argnums=3)
        self._resize = jax.jit(
            functools.partial(_resize, policy=policy),
            static_argnames=("groups", "samples", "width"),
        )
        self._finish = jax.jit(_finish, out_shardings=out_shardings)

    def __call__(
        self, params: Params, prompts: PromptBatch, seed: Array, first: Any = 0
    ) -> Rollout:
        """Samples one wave."""
        most, segment = self._spec.max_new_tokens, self._spec.segment
        weights, shared, rows = self._start(params, prompts, seed, first)
        groups, samples = rows["done"].shape
        outputs = {name: jnp.copy(rows[name]) for name in OUTPUTS}  # rows are donated
        place = jnp.arange(groups * samples, dtype=jnp.int32).reshape(groups, samples)
        rows["place"] = place
        width = limit = min(segment, most)
        while True:
            rows, alive = self._decode(params, weights, shared, rows, limit)
            live_groups, live_samples = map(int, jax.device_get(alive))
            if not live_groups or limit == most:
                return self._finish(prompts, outputs, rows)
            limit = min(limit + segment, most)
            new = (
                _halved(groups, live_groups, self._multiple),
                _halved(samples, live_samples, 1),
                width if limit <= width else min(2 * width, most),
            )
            if new != (groups, samples, width):
                shared, rows, outputs = self._resize(
                    shared, outputs, rows, groups=new[0], samples=new[1], width=new[2]
                )
                groups, samples, width = new

    def compiles(self) -> int:
        """How many programs there are: one a shape, so at most a few dozen."""
        programs: tuple[Any, ...] = (
            self._start,
            self._decode,
            self._resize,
            self._finish,
        )
        return sum(program._cache_size() for program in programs)


def _halved(size: int, needed: int, multiple: int) -> int:
    """`size` halved as often as `needed` allows, in multiples of `multiple`."""
    while size > 1:
        half = -(-size // 2 // multiple) * multiple
        if half < needed or half >= size or half == 0:
            break
        size = half
    return size


def _decode(
    params: Params,
    weights: Params,
    shared: Rows,
    rows: Rows,
    limit: Array,
    **bound: Any,
) -> tuple[Rows, tuple[Array, Array]]:
    """A segment; and how many groups live, and samples in the group with most."""
    place = rows["place"]
    state = {name: value for name, value in rows.items() if name != "place"}
    state = sampling.decode(params, weights, shared, state, limit, **bound)
    live_B = (~state["done"]).sum(-1)
    return state | {"place": place}, ((live_B > 0).sum(), live_B.max())


def _resize(
    shared: Rows,
    outputs: Rows,
    rows: Rows,
    *,
    policy: Policy,
    groups: int,
    samples: int,
    width: int,
) -> tuple[Rows, Rows, Rows]:
    """Writes all rows to the outputs, then keeps the first of the live ones.

    What fills the rest of the new shape are rows that have ended: they stay so, and
    are written again as they are.
    """
    outputs = _put(outputs, rows)
    done_BG = rows["done"]
    group_N = jnp.argsort(done_BG.all(-1), stable=True)[:groups]
    sample_NH = jnp.argsort(done_BG[group_N], -1, stable=True)[:, :samples]

    def take(x: Array) -> Array:
        return jax.vmap(lambda row, chosen: row[chosen])(x[group_N], sample_NH)

    cache = policy.resize_cache(
        shared | {"completion": rows["cache"]}, group_N, sample_NH, width
    )
    apart = ("index", "cache")
    kept = {name: take(value) for name, value in rows.items() if name not in apart}
    kept |= {"index": rows["index"], "cache": cache.pop("completion")}
    return cache, kept, outputs


def _put(outputs: Rows, rows: Rows) -> Rows:
    place = rows["place"].reshape(-1)

    def put(whole: Array, part: Array) -> Array:
        flat = whole.reshape(-1, *whole.shape[2:])
        part = part.reshape(-1, *part.shape[2:])
        return flat.at[place].set(part).reshape(whole.shape)

    return {name: put(outputs[name], rows[name]) for name in OUTPUTS}


def _finish(prompts: PromptBatch, outputs: Rows, rows: Rows) -> Rollout:
    return sampling.to_rollout(prompts, _put(outputs, rows))
