"""Log-probabilities and entropies of completions, never with [.., T, V] logits.

The head is applied to a chunk of tokens at a time, under remat, so that at most
`chunk` rows of logits are alive in the forward and in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax import sharding
from agrae_jax.minibatch import split_rows
from agrae_jax.types import Params, Policy, PromptBatch


def token_logprobs(
    params: Params,
    hidden_BGTD: Array,
    token_BGT: Array,
    *,
    policy: Policy,
    temperature: float,
    chunk: int,
    entropy_gradient: bool = False,
    statistic: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """Log-probability of each token and entropy of its distribution, both [B, G, T].

    Both are of softmax(logits / temperature), float32, in nats. `chunk` is the
    number of logit rows alive at once on a device. The entropy carries a gradient only
    if asked, since it is usually a metric. A `statistic` of the logits takes its place.
    """
    b, g, t, d = hidden_BGTD.shape
    rows = max(1, b * g // sharding.batch_shards())
    width = max(1, min(t, chunk // rows))  # tokens of each row in a chunk
    count = -(-t // width)
    pad = count * width - t
    hidden = jnp.pad(hidden_BGTD, ((0, 0), (0, 0), (0, pad), (0, 0)))
    token = jnp.pad(token_BGT, ((0, 0), (0, 0), (0, pad)))

    @jax.checkpoint
    def one_chunk(params: Params, hidden_BGCD: Array, token_BGC: Array):
        logits = policy.unembed(params, hidden_BGCD)
        if temperature != 1.0:
            logits = logits / temperature
        # One shift serves both sums; it is data, so no gradient flows through it.
        shift = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
        shifted = logits - shift
        log_total = jnp.log(jnp.exp(shifted).sum(-1))
        taken = jnp.take_along_axis(shifted, token_BGC[..., None], axis=-1)[..., 0]
        if statistic is not None:
            return taken - log_total, statistic(logits)
        free = shifted if entropy_gradient else jax.lax.stop_gradient(shifted)
        log_z = log_total if entropy_gradient else jax.lax.stop_gradient(log_total)
        mean = (jnp.exp(free - log_z[..., None]) * free).sum(-1)
        return taken - log_total, log_z - mean

    def body(carry: None, xs: tuple[Array, Array]):
        return carry, one_chunk(params, *xs)

    if count == 1:
        logprob, entropy = one_chunk(params, hidden, token)
    else:
        xs = (
            hidden.reshape(b, g, count, width, d).transpose(2, 0, 1, 3, 4),
            token.reshape(b, g, count, width).transpose(2, 0, 1, 3),
        )
        _, (logprob, entropy) = jax.lax.scan(body, None, xs)
        logprob = logprob.transpose(1, 2, 0, 3).reshape(b, g, count * width)
        entropy = entropy.transpose(1, 2, 0, 3).reshape(b, g, count * width)
    return logprob[..., :t], entropy[..., :t]


def score(
    params: Params,
    prompts: PromptBatch,
    completion_BGT: Array,
    *,
    policy: Policy,
    temperature: float,
    chunk: int,
    entropy_gradient: bool = False,
    statistic: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """(logprob_BGT, entropy_BGT) by one group-structured forward: prompts once."""
    hidden = policy.forward_groups(
        params, prompts.tokens_BL, prompts.length_B, completion_BGT
    )
    return token_logprobs(
        params,
        hidden,
        completion_BGT,
        policy=policy,
        temperature=temperature,
        chunk=chunk,
        entropy_gradient=entropy_gradient,
        statistic=statistic,
    )


def score_in_parts(
    params: Params,
    prompts: PromptBatch,
    completion_BGT: Array,
    *,
    parts: int,
    policy: Policy,
    temperature: float,
    chunk: int,
    statistic: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """`score` of B / parts groups at a time: a whole rollout batch need not fit."""

    def one(part: tuple[PromptBatch, Array]) -> tuple[Array, Array]:
        return score(
            params,
            *part,
            policy=policy,
            temperature=temperature,
            chunk=chunk,
            statistic=statistic,
        )

    if parts == 1:
        return one((prompts, completion_BGT))
    scored = jax.lax.map(one, split_rows((prompts, completion_BGT), parts))
    return jax.tree.map(lambda x: x.swapaxes(0, 1).reshape(-1, *x.shape[2:]), scored)


def length_mask(length_BG: Array, width: int) -> Array:
    """float32 mask_BGT: 1 on the first `length` tokens; never from token values."""
    position = jnp.arange(width, dtype=jnp.int32)
    return (position < length_BG[..., None]).astype(jnp.float32)
