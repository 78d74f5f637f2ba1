"""The programs of one RL step, lowered for devices that need not be there.

They are the run's own functions on abstract arrays: nothing is computed and no weight
is read. Each is given the layouts that the one before it leaves behind.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from agrae_jax import build, sampling, sharding, step
from agrae_jax.build_model import param_shardings
from agrae_jax.data import templates
from agrae_jax.optim import state_shardings
from agrae_jax.types import Graded, Policy, PromptBatch, Rollout, TrainState

Outputs = Any  # of the program before: shapes with shardings, None where it failed


@dataclasses.dataclass(frozen=True)
class Program:
    """One program: how often a step runs it, and what it takes to lower it.

    `dynamic_trips` is the length of its loops that are not fixed when it is compiled.
    `model_flops` are those of the maths, over all devices, for one run: every token
    through every matrix once (three times in the update), attention over the whole
    square; nothing computed twice.
    """

    name: str
    runs: float
    dynamic_trips: float
    model_flops: float
    lower: Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The numbers of a step, by the letters of `types.py`."""

    B: int
    G: int
    L: int
    T: int
    wave: int
    updates: int  # optimizer steps
    micro_batches: int


class Step:
    """The programs of a config on a mesh, in order; `state_bytes` are of one device."""

    def __init__(self, config: Any, policy: Policy, mesh: jax.sharding.Mesh):
        self._config, self._policy, self._mesh = config, policy, mesh
        self._method = build.build_method(config)
        self._tx = build.build_optimizer(config, self._method)
        self._spec = build.update_spec(config, self._method)
        self._everywhere = NamedSharding(mesh, PartitionSpec())
        self._rows = sharding.batch_sharding(mesh)
        c = config.rollout
        self.sizes = Sizes(
            B=c.prompts,
            G=c.samples,
            L=config.data.max_prompt_tokens,
            T=c.max_new_tokens,
            wave=c.wave or c.prompts,
            updates=self._spec.mini_batches * self._spec.epochs,
            micro_batches=self._spec.micro_batches,
        )
        self.state = self._state()
        self.outputs: dict[str, Outputs] = {}  # filled in by whoever compiles

    @property
    def mesh(self) -> jax.sharding.Mesh:
        """The devices."""
        return self._mesh

    @property
    def mesh_shape(self) -> dict[str, int]:
        """Devices on each axis of the mesh."""
        return dict(self._mesh.shape)

    @property
    def state_bytes(self) -> int:
        """Parameters and optimizer state on one device."""
        return bytes_of(self.state)

    @property
    def reference_bytes(self) -> int:
        """The frozen copy of the first parameters, where the method wants one."""
        return bytes_of(self.state.params) if self._reference() else 0

    def programs(self) -> Iterator[Program]:
        """Cast, sample, prepare (scores and advantages), update.

        A wave is sampled by one program, or with `rollout.segment` by two, prefill and
        decode: its cache is then an argument between them.
        """
        s, c = self.sizes, self._policy.config
        tokens = s.L + s.G * s.T
        body, head = matrix_params(c)
        square = 4 * c.layers * c.heads * c.head_dim

        def forward(groups: float) -> float:
            attention = square * (s.L * s.L + s.G * s.T * (s.L + s.T))
            return groups * (2 * body * tokens + 2 * head * s.G * s.T + attention)

        prefill = s.wave * (2 * body * s.L + square * s.L * s.L + 2 * head)
        rows = s.wave * s.G * (s.T - 1)
        decode = rows * (2 * body + 2 * head + square * (s.L + s.T))
        waves = s.B / s.wave
        scores = int(s.updates > 1 or "old_entropy" in self._method.needs)
        scores += bool(self._reference())
        yield Program("cast", 1, 1, 0.0, self._lower_cast)
        if self._config.rollout.segment:
            yield Program("prefill", waves, 1, prefill, self._lower_prefill)
            yield Program("decode", waves, s.T - 1, decode, self._lower_decode)
        else:
            both = prefill + decode
            yield Program("sample", waves, s.T - 1, both, self._lower_sample)
        yield Program("score", 1, 1, scores * forward(s.B), self._lower_prepare)
        per_update = 3 * forward(s.B / self._spec.mini_batches)
        yield Program(
            "update", s.updates, s.micro_batches, per_update, self._lower_update
        )

    def _state(self) -> TrainState:
        shapes = jax.eval_shape(lambda: self._policy.init(jax.random.key(0)))
        placed = param_shardings(self._policy, shapes, self._mesh)
        params = _on(shapes, placed)
        opt = state_shardings(self._tx, params, placed, self._everywhere)
        method_state = jax.eval_shape(self._method.init_state)
        return TrainState(
            step=self._whole((), jnp.int32),
            params=params,
            opt_state=_on(jax.eval_shape(self._tx.init, params), opt),
            method_state=jax.tree.map(
                lambda x: self._whole(x.shape, x.dtype), method_state
            ),
        )

    def _reference(self) -> Any:
        wanted = self._method.needs & {"ref_logprob", "ref_gap"}
        return self.state.params if wanted else None

    def _whole(self, shape: Any, dtype: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self._everywhere)

    def _split(self, *shape: int, dtype: Any = jnp.int32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self._rows)

    def _prompts(self, groups: int) -> PromptBatch:
        b = self._split(groups)
        return PromptBatch(self._split(groups, self.sizes.L), b, b, b)

    def _sampling(self) -> dict[str, Any]:
        spec = build.train_spec(self._config, templates.tiny())
        return {"policy": self._policy, "spec": spec}

    def _decode_params(self) -> Any:
        """Parameters in the layout and dtype that sampling reads."""
        rules = self._policy.rules["sample"]
        params, table = self.state.params, self._policy.param_axes
        target = sharding.named_shardings(params, table, rules, self._mesh)
        dtype = jnp.dtype(self._config.model.dtype)
        return jax.tree.map(
            lambda x, s: jax.ShapeDtypeStruct(x.shape, dtype, sharding=s),
            params,
            target,
        )

    def _lower_cast(self) -> Any:
        wanted = self._decode_params()
        dtype = jnp.dtype(self._config.model.dtype)

        def cast(params: Any) -> Any:
            return jax.tree.map(lambda x: x.astype(dtype), params)

        shardings = jax.tree.map(lambda x: x.sharding, wanted)
        return jax.jit(cast, out_shardings=shardings).lower(self.state.params)

    def _lower_sample(self) -> Any:
        sampler = sampling.make_sampler(**self._sampling(), out_shardings=self._rows)
        seed = self._whole((), jnp.int32)
        return sampler.lower(
            self._decode_params(), self._prompts(self.sizes.wave), seed
        )

    def _lower_prefill(self) -> Any:
        start = functools.partial(
            sampling.start, width=self.sizes.T, **self._sampling()
        )

        def prefill(params: Any, prompts: PromptBatch, seed: Any) -> Any:
            return start(params, prompts, seed, 0)[1:]

        seed = self._whole((), jnp.int32)
        prompts = self._prompts(self.sizes.wave)
        return jax.jit(prefill).lower(self._decode_params(), prompts, seed)

    def _lower_decode(self) -> Any:
        decode = functools.partial(sampling.decode, **self._sampling())
        params = self._decode_params()
        shared, rows = self.outputs["prefill"]
        limit = self._whole((), jnp.int32)
        return jax.jit(decode, donate_argnums=3).lower(
            params, params, shared, rows, limit
        )

    def _lower_prepare(self) -> Any:
        s, split = self.sizes, functools.partial(self._split, dtype=jnp.float32)
        whole = self._split(s.B, s.G)
        rollout = Rollout(
            prompts=self._prompts(s.B),
            completion_BGT=self._split(s.B, s.G, s.T),
            length_BG=whole,
            stop_BG=whole,
            logprob_BGT=split(s.B, s.G, s.T),
            entropy_BGT=split(s.B, s.G, s.T),
        )
        seen = {
            f.name: split(s.B, s.G)
            for f in dataclasses.fields(Graded)
            if f.default is dataclasses.MISSING
        }
        prepare = jax.jit(functools.partial(step.prepare, **self._bound()))
        return prepare.lower(self.state, self._reference(), rollout, Graded(**seen))

    def _lower_update(self) -> Any:
        shardings = jax.tree.map(lambda x: x.sharding, self.state)
        update = jax.jit(
            functools.partial(step.update, tx=self._tx, **self._bound()),
            donate_argnums=0,
            out_shardings=(shardings, None),
        )
        return update.lower(self.state, self.outputs["score"].batches[0])

    def _bound(self) -> dict[str, Any]:
        return {"policy": self._policy, "method": self._method, "spec": self._spec}


def matrix_params(config: Any) -> tuple[int, int]:
    """Numbers in the matrices that a token meets: (all layers', the head's)."""
    c = config
    attention = 2 * c.width * c.head_dim * (c.heads + c.kv_heads)
    return c.layers * (attention + 3 * c.width * c.mlp_width), c.width * c.vocab_size


def bytes_of(tree: Any) -> int:
    """Bytes on one device of a tree of shapes with shardings."""
    total = 0
    for leaf in jax.tree.leaves(tree):
        size = leaf.dtype.itemsize
        for n in leaf.sharding.shard_shape(leaf.shape):
            size *= n
        total += size
    return total


def outputs_of(lowered: Any, compiled: Any) -> Outputs:
    """What a compiled program leaves behind, as shapes with shardings."""
    return _on(lowered.out_info, compiled.output_shardings)


def _on(shapes: Any, shardings: Any) -> Any:
    return jax.tree.map(
        lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s),
        shapes,
        shardings,
    )
