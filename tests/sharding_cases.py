"""What `sharding_test.py` runs on 8 fake devices, in a process of its own.

Prints one JSON object: for every family and mesh, how far loss, hidden states and
gradient are from those of one device, and how an activation was really split.
"""

import functools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import SingleDeviceSharding

from agrae_jax import models, sharding

MESHES = [(8, 1), (4, 2), (2, 4), (1, 8)]
# Without --all: each mesh and each family once or twice, a third of the compiling.
QUICK = {"llama": [(8, 1), (2, 4)], "qwen2": [(4, 2)], "qwen3": [(1, 8)]}
SIZES = {
    "llama": {"hidden_size": 576, "intermediate_size": 1536, "head_dim": 64},
    "qwen2": {"hidden_size": 64, "tie_word_embeddings": False},
    "qwen3": {"hidden_size": 64, "head_dim": 8},
}
HEADS = {"num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 512}
B, G, L, T = 8, 2, 6, 5


def batch():
    rng = np.random.default_rng(0)
    prompt = rng.integers(0, 512, (B, L), dtype=np.int32)
    completion = rng.integers(0, 512, (B, G, T), dtype=np.int32)
    return prompt, np.array([6, 3, 1, 6, 2, 5, 4, 6], np.int32), completion


def losses(policy, params, prompt, length, completion):
    """(mean log-probability, hidden states)."""
    hidden = policy.forward_groups(params, prompt, length, completion)
    logp = jax.nn.log_softmax(policy.unembed(params, hidden))
    taken = jnp.take_along_axis(logp, completion[..., None], -1)
    return taken.mean(), hidden


def decoded(policy, params, prompt, length, completion):
    cache = policy.init_cache(B, G, L, T)
    _, cache = policy.prefill(params, prompt, length, cache)
    return policy.decode(params, completion[:, :, 0], jnp.int32(0), cache)[0]


def main():
    result = {}
    for family, sizes in SIZES.items():
        policy = models.random(family, {**HEADS, **sizes})
        one_device = SingleDeviceSharding(jax.devices()[0])
        params = jax.jit(policy.init, out_shardings=one_device)(jax.random.key(0))
        arrays = batch()
        loss = jax.value_and_grad(functools.partial(losses, policy), has_aux=True)
        (value, hidden), gradient = jax.jit(loss)(params, *arrays)
        one_step = jax.jit(functools.partial(decoded, policy))(params, *arrays)
        flat = ravel_pytree(gradient)[0]
        for sizes in MESHES if "--all" in sys.argv else QUICK[family]:
            mesh = sharding.make_mesh(*sizes)
            place = functools.partial(
                sharding.named_shardings, params, policy.param_axes, mesh=mesh
            )
            rows = sharding.batch_sharding(mesh)
            with jax.set_mesh(mesh):
                here = jax.device_put(params, place(rules=policy.rules["train"]))
                split = [jax.device_put(x, rows) for x in arrays]
                compiled = jax.jit(loss)
                (v, h), g = compiled(here, *split)
                text = compiled.lower(here, *split).as_text()
                sampling = jax.device_put(params, place(rules=policy.rules["sample"]))
                step = jax.jit(functools.partial(decoded, policy))(sampling, *split)
            g = jax.device_get(g)
            result[f"{family} {sizes[0]}x{sizes[1]}"] = {
                "loss": abs(float(v) - float(value)) / abs(float(value)),
                "hidden": float(np.abs(np.asarray(h) - np.asarray(hidden)).max()),
                "gradient": float(
                    np.linalg.norm(ravel_pytree(g)[0] - flat) / np.linalg.norm(flat)
                ),
                "decode": float(np.abs(np.asarray(step) - np.asarray(one_step)).max()),
                "constraints": text.count("sharding_constraint"),
                "rows_per_device": h.addressable_shards[0].data.shape[0],
            }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
