"""A second decoder, as plain as can be: one flat sequence, every key repeated.

Shares no code with `agrae_jax.models`; rotary by complex numbers. The oracle of the
tests beside it, for Llama and Qwen2 parameters.
"""

import jax
import jax.numpy as jnp
import numpy as np


def forward(params, config, tokens_S):
    """Hidden states [S, width] of one sequence, after the final norm, float32."""
    causal = np.tril(np.ones((len(tokens_S), len(tokens_S)), bool))

    def layer(x, w):
        y = norm(x, w["attention_norm"]["scale"], config.norm_eps)
        q, k, v = (project(y, w["attention"][n]) for n in ("query", "key", "value"))
        q, k = turn(q, config.rope.theta), turn(k, config.rope.theta)
        k, v = (jnp.repeat(a, config.heads // config.kv_heads, 1) for a in (k, v))
        score = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(config.head_dim)
        weight = jax.nn.softmax(jnp.where(causal, score, -jnp.inf), -1)
        mixed = jnp.einsum("hqk,khd->qhd", weight, v)
        x = x + jnp.einsum("qhd,hdw->qw", mixed, w["attention"]["out"]["kernel"])
        y = norm(x, w["mlp_norm"]["scale"], config.norm_eps)
        m = {name: linear["kernel"] for name, linear in w["mlp"].items()}
        gate = y @ m["gate"]
        return x + (gate / (1 + jnp.exp(-gate)) * (y @ m["up"])) @ m["down"], None

    x, _ = jax.lax.scan(layer, params["embedding"][tokens_S], params["layers"])
    return norm(x, params["norm"]["scale"], config.norm_eps)


def forward_groups(params, config, tokens_BL, length_B, completion_BGT):
    """The same hidden states as `Policy.forward_groups`, sequence by sequence."""
    rows = []
    for tokens, length, group in zip(tokens_BL, length_B, completion_BGT, strict=True):
        sequences = [jnp.concatenate([tokens[:length], row]) for row in group]
        hidden = [forward(params, config, s)[length - 1 : -1] for s in sequences]
        rows.append(jnp.stack(hidden))
    return jnp.stack(rows)


def norm(x, scale, eps):
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + eps) * scale


def project(x, linear):
    return jnp.einsum("sw,whd->shd", x, linear["kernel"]) + linear.get("bias", 0.0)


def turn(x, theta):
    size = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None] * theta ** (-np.arange(size) / size)
    z = (x[..., :size] + 1j * x[..., size:]) * np.exp(1j * angle)[:, None]
    return jnp.concatenate([z.real, z.imag], -1)
