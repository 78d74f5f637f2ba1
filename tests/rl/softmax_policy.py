"""A tabular softmax policy in numpy: the oracle of gradient tests.

One row of logits per position, shared by all completions, so that
`d logprob[b, g, t] / d logits[t] = onehot(token) - pi[t]`, in float64.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agrae_jax.rl.loss import rlvr_loss
from tests.rl.contexts import f32, token_context

B, G, T, V = 2, 4, 3, 5
RNG = np.random.default_rng(7)
LOGITS = RNG.normal(0, 1, (T, V))
OLD = LOGITS + RNG.normal(0, 0.5, (T, V))
REF = LOGITS + RNG.normal(0, 0.5, (T, V))
TOKENS = RNG.integers(0, V, (B, G, T))
LENGTH = np.array([[3, 2, 1, 3], [3, 3, 0, 2]])
MASK = (np.arange(T) < LENGTH[..., None]).astype(np.float64)
ADVANTAGE = RNG.normal(0, 1, (B, G))[..., None] * MASK
WEIGHT = MASK * RNG.uniform(0.1, 1, (B, G, T))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def chosen(table: Any) -> Any:
    """The log-prob of each sampled token: [T, V] -> [B, G, T]."""
    return table[np.arange(T), TOKENS]


LOG_RATIO = MASK * (chosen(log_softmax(LOGITS)) - chosen(log_softmax(OLD)))


def expected_gradient(slope: np.ndarray) -> np.ndarray:
    """d/d logits of sum(weight * loss), from slope = d loss / d logprob."""
    pi = np.exp(log_softmax(LOGITS))
    onehot = np.eye(V)[TOKENS]
    return np.einsum("bgt,bgtv->tv", WEIGHT * slope, onehot - pi)


def context(logits: Any, **arrays: Any) -> Any:
    return token_context(
        chosen(jax.nn.log_softmax(logits)),
        old=chosen(log_softmax(OLD)),
        ref=chosen(log_softmax(REF)),
        mask=MASK,
        weight=WEIGHT,
        **arrays,
    )


def loss_gradient(method: Any, *, keep: Any = 1.0) -> np.ndarray:
    """The same by autodiff through `rlvr_loss`."""

    def loss(logits: Any) -> Any:
        ctx = context(logits)
        keep_BGT = keep * jnp.ones(ctx.mask_BGT.shape)
        return rlvr_loss(ctx, f32(ADVANTAGE), keep_BGT, (), method=method)[0]

    return np.asarray(jax.grad(loss)(f32(LOGITS)))
