"""Finds the first layer at which two ways to compute the same tokens part.

    python -m agrae_jax.diverge --workdir=RUN [--paths=scorer,sampler]
    python -m agrae_jax.diverge --config=configs/qwen7b.py --config.model.path=DIR

Both ways compute the hidden states of a few prompts of data.train with random
completions. Where they differ by more than the tolerance, the model is cut after fewer
and fewer layers, by halving, until the first layer that differs is found.

Exit code 0: they agree. 1: they do not, and the last line names the layer.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from agrae_jax import build, memory, models
from agrae_jax import config as config_door
from agrae_jax.config import Flag
from agrae_jax.console import Console
from agrae_jax.data import batches
from agrae_jax.errors import UserError
from agrae_jax.types import Params, Policy, PromptBatch

GROUPS, SAMPLES, TOKENS = 2, 2, 12  # a mesh may ask for more groups
# Of the root mean square of the difference over that of the hidden states.
TOLERANCE = {"float32": 1e-5, "bfloat16": 0.05}
Hidden = Callable[[Policy, Params, PromptBatch, Array], Array]  # -> hidden_BGTD


def scorer(
    policy: Policy, params: Params, prompts: PromptBatch, completion_BGT: Array
) -> Array:
    """As the update computes them: one forward of whole groups."""
    return jax.jit(policy.forward_groups)(
        params, prompts.tokens_BL, prompts.length_B, completion_BGT
    )


def sampler(
    policy: Policy, params: Params, prompts: PromptBatch, completion_BGT: Array
) -> Array:
    """As sampling computes them: prefill, then a token at a time."""
    (B, L), (_, G, T) = prompts.tokens_BL.shape, completion_BGT.shape
    cache = policy.init_cache(B, G, L, T)
    last_BD, cache = jax.jit(policy.prefill)(
        params, prompts.tokens_BL, prompts.length_B, cache
    )
    weights, cache = policy.decode_layout(params, cache)
    decode = jax.jit(policy.decode)
    hidden = [jnp.broadcast_to(last_BD[:, None], (B, G, last_BD.shape[-1]))]
    for t in range(T - 1):
        found, cache = decode(weights, completion_BGT[:, :, t], jnp.int32(t), cache)
        hidden.append(found)
    return jnp.stack(hidden, 2)


# name -> (how hidden states are computed, what differs in the policy)
PATHS: dict[str, tuple[Hidden, dict[str, Any]]] = {
    "scorer": (scorer, {}),
    "sampler": (sampler, {}),
    "float32": (scorer, {"dtype": "float32", "attention": "plain"}),
    "plain": (scorer, {"attention": "plain"}),
    "splash": (scorer, {"attention": "splash_interpreted"}),
}
FLAGS = {
    "paths": Flag(str, "scorer,sampler", f"two of {', '.join(PATHS)}"),
    "tolerance": Flag(float, 0.0, "of the relative difference; default by dtype"),
}


def main(argv: list[str]) -> int:
    """Compares two paths; returns 1 where they part."""
    parsed = config_door.parse(argv, extra_flags=FLAGS, from_run=True)
    config: Any = parsed.config
    names = [name.strip() for name in parsed.flags["paths"].split(",")]
    if len(names) != 2 or not set(names) <= set(PATHS):
        raise UserError(
            f"--paths={parsed.flags['paths']} must be two of {', '.join(PATHS)}"
        )
    tolerance = parsed.flags["tolerance"] or TOLERANCE[config.model.dtype]
    console = Console(quiet=False)
    mesh = build.build_mesh(config)
    with jax.set_mesh(mesh), memory.guarded(config, mesh):
        model = build.build_model(config, mesh)
        prompts, completion = _tokens(config, model)
        layers = model.policy.config.layers

        def differs(depth: int) -> bool:
            cut = functools.partial(_cut, config, model, depth, prompts, completion)
            hidden = [cut(*PATHS[name]) for name in names]
            apart, largest = difference(*hidden)
            console.say(
                f"after layer {depth} of {layers}: {names[0]} and {names[1]} differ by"
                f" {apart:.2e} of their size, {largest:.2e} at most"
            )
            return apart > tolerance

        found = first_layer(layers, differs)
    if found is None:
        console.say(f"they agree within {tolerance:g} through all {layers} layers")
        return 0
    console.say(
        f"layer {found} is the first at which they part by more than {tolerance:g}"
    )
    return 1


def first_layer(layers: int, differs: Callable[[int], bool]) -> int | None:
    """The first depth (from 1) that `differs`, by halving; None if the last agrees."""
    if not differs(layers):
        return None
    same, different = 0, layers
    while different - same > 1:
        middle = (same + different) // 2
        if differs(middle):
            different = middle
        else:
            same = middle
    return different


def difference(a: Array, b: Array) -> tuple[float, float]:
    """(root mean square, largest) of the difference over the root mean square of `a`.

    Infinite where either holds a number that is none.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    apart = np.abs(x - y) / max(np.sqrt(np.mean(x**2)), 1e-30)
    if not np.isfinite(apart).all():
        return np.inf, np.inf
    return float(np.sqrt(np.mean(apart**2))), float(apart.max())


def _cut(
    config: Any,
    model: build.Model,
    depth: int,
    prompts: PromptBatch,
    completion_BGT: Array,
    hidden: Hidden,
    changed: dict[str, Any],
) -> Array:
    """Hidden states after `depth` layers and the last norm, by one path."""
    whole = model.policy
    policy = models.policy.build(
        whole.name,
        dataclasses.replace(whole.config, layers=depth),
        **{**build.policy_options(config), "prefix": whole.prefix, **changed},
    )
    layers = jax.tree.map(lambda x: x[:depth], model.params["layers"])
    return hidden(policy, model.params | {"layers": layers}, prompts, completion_BGT)


def _tokens(config: Any, model: build.Model) -> tuple[PromptBatch, Array]:
    """The first prompts of data.train, and random tokens after them."""
    encoded, _ = build.encode_problems(
        config, build.build_problems(config, "train"), model
    )
    groups = max(GROUPS, model.mesh.size)
    batch = batches.Stream(encoded, seed=config.seed, batch=groups).batch(0)
    shape = (groups, SAMPLES, TOKENS)
    ids = np.random.default_rng(config.seed).integers(
        0, model.tokenizer.vocab_size, shape
    )
    return jax.device_put(batch.prompts), jnp.asarray(ids, jnp.int32)


if __name__ == "__main__":
    config_door.main(main)
