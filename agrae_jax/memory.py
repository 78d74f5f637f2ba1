"""How much memory a run takes, before it takes it; and one line when it was too much.

The numbers are sums of array sizes on one device, not a compiler's, which adds to them
(the quickstart: 3.3 GiB here, 4.5 GiB of process). That is enough to know that a run
will not fit and which buffer is to blame.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from agrae_jax import plan_programs, sharding
from agrae_jax.build_model import Model, build_model
from agrae_jax.errors import MEMORY, UserError
from agrae_jax.types import TrainState

_TIGHT = 0.9  # share of what there is from which a word is due
# What to turn, by buffer.
_KNOBS = {
    "parameters": "mesh.fsdp (more devices) or model.param_dtype=bfloat16",
    "optimizer": "mesh.fsdp (more devices) or optim.mu_dtype=bfloat16",
    "gradients": "mesh.fsdp (more devices)",
    "reference": "loss.kl_coef=0, which needs no reference policy",
    "decoding copy": "model.dtype=bfloat16 or mesh.tensor",
    "key-value cache": "rollout.wave (fewer groups at a time) or eval.prompts",
    "sampled logits": "rollout.wave (fewer groups at a time) or eval.prompts",
    "activations": "updates.micro_batches (more of them) or model.remat=True",
    "logits": "updates.logprob_chunk (smaller)",
}


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Bytes on one device: held all the time, while sampling, while learning."""

    held: Mapping[str, int]
    sampling: Mapping[str, int]
    learning: Mapping[str, int]
    limit: int | None  # bytes there are, None where nobody tells

    @property
    def peak(self) -> int:
        """Bytes at the worst moment."""
        phases = (sum(self.sampling.values()), sum(self.learning.values()))
        return sum(self.held.values()) + max(phases)

    def text(self) -> str:
        """`memory: about 2.1 GiB of 7.8 GiB (parameters 0.50, ...)`."""
        there = f" of {_gib(self.limit)} GiB" if self.limit else ""
        return (
            f"memory, a device: about {_gib(self.peak)} GiB{there}"
            f" ({', '.join(self._biggest(4))})"
        )

    def warning(self) -> str:
        """What to turn where it will hardly fit; "" where it will."""
        if not self.limit or self.peak < _TIGHT * self.limit:
            return ""
        return (
            f"this run needs about {_gib(self.peak)} GiB a device and there are"
            f" {_gib(self.limit)}: turn {self.knob()}"
        )

    def knob(self, phase: str = "") -> str:
        """What to turn: the knob of the biggest buffer (of a phase, where known)."""
        phases = {"build": self.held, "sample": self.sampling, "learn": self.learning}
        sizes = phases.get(phase) or {**self.held, **self.sampling, **self.learning}
        return _KNOBS[max(sizes, key=lambda name: sizes[name])]

    def explain(self, error: Exception, phase: str) -> None:
        """Raises the one line for an allocation that failed in a phase of the step.

        "build" is the time before the first step, "" that of an evaluation.
        """
        if not _ran_out(error):
            return
        at = {
            "build": "building or restoring the model",
            "sample": "sampling",
            "learn": "the update",
        }.get(phase, "evaluation")
        raise UserError(
            f"out of memory in {at}; the biggest buffers of a device, in GiB, are about"
            f" {', '.join(self._biggest(4, phase))}. Turn"
            f" {self.knob(phase or 'sample')};"
            " what was saved is kept, and the same command resumes it",
            exit_code=MEMORY,
        ) from error

    def _biggest(self, count: int, phase: str = "") -> list[str]:
        sizes = {**self.held, **self.sampling, **self.learning}
        sizes = dict(self.held) if phase == "build" else sizes
        names = sorted(sizes, key=lambda name: -sizes[name])[:count]
        return [f"{name} {_gib(sizes[name])}" for name in names if sizes[name]]


@contextlib.contextmanager
def guarded(config: Any, mesh: jax.sharding.Mesh, phase: str = "build") -> Iterator:
    """Explains an allocation that fails before a run has an estimate of its own.

    It is made then, from shapes alone. `phase` "" is an evaluation without training.
    """
    try:
        yield
    except Exception as error:
        if _ran_out(error):
            _of_shapes(config, mesh, training=bool(phase)).explain(error, phase)
        raise


def _ran_out(error: Exception) -> bool:
    # TensorStore calls a full disk an exhausted resource, too.
    if isinstance(error, UserError) or "No space left" in str(error):
        return False
    told = "RESOURCE_EXHAUSTED" in str(error) or "Out of memory" in str(error)
    return told or isinstance(error, MemoryError)


def _of_shapes(config: Any, mesh: jax.sharding.Mesh, *, training: bool) -> Estimate:
    model = build_model(config, mesh, weights=False)
    step = plan_programs.Step(config, model.policy, mesh)
    prompt, reference = config.data.max_prompt_tokens, step.reference_bytes > 0
    found = estimate(config, model, step.state, prompt=prompt, reference=reference)
    if training:
        return found
    held = {"parameters": found.held["parameters"]}
    return dataclasses.replace(found, held=held, learning={})


def estimate(
    config: Any, model: Model, state: TrainState, *, prompt: int, reference: bool
) -> Estimate:
    """Sums the arrays of a run; `prompt` is L, the tokens of the longest prompt."""
    policy, mesh, c = model.policy, model.mesh, config.rollout
    shape, width = policy.config, np.dtype(config.model.dtype).itemsize
    params = _bytes_of(state.params)
    rows = sharding.batch_sharding(mesh)
    groups = _share(rows, c.wave or c.prompts)
    evaluated = _share(rows, config.eval.prompts or c.wave or c.prompts)
    completions = max(groups * c.samples, evaluated * config.eval.samples)
    cache = jax.eval_shape(
        lambda: policy.init_cache(groups, c.samples, prompt, c.max_new_tokens)
    )
    copies = int(mesh.size > 1 or config.model.dtype != config.model.param_dtype)
    copies += jax.default_backend() == "cpu"  # decode keeps the layers apart there
    micro = c.prompts // config.updates.mini_batches // config.updates.micro_batches
    tokens = _share(rows, micro) * (prompt + c.samples * c.max_new_tokens)
    block = shape.width * 8 + shape.mlp_width * 3  # values a token inside one block
    kept = shape.width * shape.layers  # its input, for each block
    if not config.model.remat:
        kept = block * shape.layers
    chunk = min(config.updates.logprob_chunk, tokens)
    return Estimate(
        held={
            "parameters": params,
            "optimizer": _bytes_of(state.opt_state),
            "reference": params if reference else 0,
        },
        sampling={
            "decoding copy": copies * _decoding_copy(model),
            "key-value cache": sum(x.size * x.dtype.itemsize for x in _leaves(cache)),
            "sampled logits": 3 * completions * policy.vocab_size * 4,
        },
        learning={
            # Their sum and the optimizer's updates; and a micro-batch's own.
            "gradients": params * (3 if config.updates.micro_batches > 1 else 2),
            "activations": tokens * (kept + block) * width,
            "logits": 3 * chunk * policy.vocab_size * 4,
        },
        limit=_limit(mesh),
    )


def _decoding_copy(model: Model) -> int:
    target = sharding.named_shardings(
        model.params, model.policy.param_axes, model.policy.rules["sample"], model.mesh
    )
    width = np.dtype(model.dtype).itemsize
    pairs = zip(_leaves(model.params), _leaves(target), strict=True)
    return sum(int(np.prod(to.shard_shape(x.shape))) * width for x, to in pairs)


def _share(rows: Any, count: int) -> int:
    """How many of `count` groups one device holds."""
    return rows.shard_shape((count,))[0]


def _bytes_of(tree: Any) -> int:
    return sum(
        int(np.prod(x.sharding.shard_shape(x.shape))) * x.dtype.itemsize
        for x in _leaves(tree)
    )


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree)


def _limit(mesh: jax.sharding.Mesh) -> int | None:
    """What a device has in all: its own word, or main memory over the devices in it."""
    device = mesh.local_devices[0]
    told = device.memory_stats() or {}
    if "bytes_limit" in told:
        return int(told["bytes_limit"])
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        total = int(lines["MemTotal"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    return total // len(mesh.local_devices)


def _gib(size: int | None) -> str:
    return f"{(size or 0) / 2**30:.2f}"
