"""Credit: the advantage of a completion -> the advantage of each of its tokens."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import masked, masked_count, masked_mean
from agrae_jax.types import TokenContext


def broadcast(advantage_BG: Array, ctx: TokenContext) -> Array:
    """Gives every token of a completion the completion's advantage."""
    return advantage_BG[..., None] * ctx.mask_BGT


def entropy_shaped(
    advantage_BG: Array, ctx: TokenContext, *, alpha: float, kappa: float
) -> Array:
    """Adds `min(alpha H, |A| / kappa)` to the advantage of each token (2506.14758).

    H is the token's entropy at the start of the step; with kappa > 1 no sign flips.
    Raises ValueError where those entropies were not computed.
    """
    if ctx.old_entropy_BGT is None:
        raise ValueError("entropy_shaped needs old_entropy: name it in Method.needs")
    advantage_BGT = broadcast(advantage_BG, ctx)
    entropy_BGT = masked(ctx.old_entropy_BGT, ctx.mask_BGT)
    bonus_BGT = jnp.minimum(alpha * entropy_BGT, jnp.abs(advantage_BGT) / kappa)
    return advantage_BGT + bonus_BGT


def whitened_returns(
    advantage_BG: Array, ctx: TokenContext, *, gamma: float, kl_coef: float
) -> Array:
    """Discounted returns, whitened over all tokens of the batch (REINFORCE++).

    `R_t = x_t + gamma R_(t+1)`, where `x_t = -kl_coef (log pi_old - log pi_ref)` and
    the last token adds the reward; then `(R - m) / sqrt(v + 1e-8)`, m and v (unbiased)
    over the rollout batch (2501.03262). Raises ValueError where a KL coefficient lacks
    the reference.
    """
    length_BG1 = jnp.sum(ctx.mask_BGT, -1, keepdims=True)
    last_BGT = ctx.mask_BGT * (jnp.cumsum(ctx.mask_BGT, -1) == length_BG1)
    reward_BGT = broadcast(advantage_BG, ctx) * last_BGT
    if kl_coef:
        if ctx.ref_logprob_BGT is None:
            raise ValueError("whitened_returns needs ref_logprob and old_logprob")
        gap_BGT = masked(ctx.old_logprob_BGT - ctx.ref_logprob_BGT, ctx.mask_BGT)
        reward_BGT = reward_BGT - kl_coef * gap_BGT

    def back(later_BG: Array, reward_BG: Array) -> tuple[Array, Array]:
        return (total_BG := reward_BG + gamma * later_BG), total_BG

    time_first = jnp.moveaxis(reward_BGT, -1, 0)
    returns_TBG = jax.lax.scan(back, 0 * advantage_BG, time_first, reverse=True)[1]
    real_BGT = ctx.mask_BGT * (ctx.valid_BG > 0)[..., None]
    returns_BGT = masked(jnp.moveaxis(returns_TBG, 0, -1), real_BGT)
    deviation_BGT = masked(returns_BGT - masked_mean(returns_BGT, real_BGT), real_BGT)
    tokens = jnp.maximum(masked_count(real_BGT), 2)
    variance = jnp.sum(deviation_BGT**2) / (tokens - 1)
    return deviation_BGT / jnp.sqrt(variance + 1e-8)


def entropy_progress(
    advantage_BG: Array,
    ctx: TokenContext,
    *,
    gamma: float,
    gate_scale: float,
    weight: float,
    threshold: float,
    buckets: int,
    eps: float = 1e-6,
) -> Array:
    """Gates tokens by entropy and adds a term of progress (after EP-GRPO, 2605.04960).

    `gate_scale W A + weight P` with `W = sigmoid(gamma (H - mean) / std)` over the
    group's tokens. P is `sign * (log pi_old - log pi_ref)`, standardised inside each
    bucket of the group; a bucket is a tenth (`buckets`) of a completion's summed
    entropy, one of fewer than 2 tokens gives 0. The sign is that of A, or, in a group
    of equal rewards, of `r - threshold`. Raises ValueError where arrays are missing.
    """
    if ctx.old_entropy_BGT is None or ctx.ref_logprob_BGT is None:
        raise ValueError("entropy_progress needs old_entropy, old_logprob, ref_logprob")
    real_BGT = ctx.mask_BGT * (ctx.valid_BG > 0)[..., None]
    entropy_BGT = masked(ctx.old_entropy_BGT, real_BGT)
    gate_BGT = jax.nn.sigmoid(gamma * _standard(entropy_BGT, real_BGT, 0.0))

    equal_B1 = ctx.stats.degenerate_B[:, None]
    sign_BG = jnp.sign(jnp.where(equal_B1, ctx.reward_BG - threshold, advantage_BG))
    gap_BGT = masked(ctx.old_logprob_BGT - ctx.ref_logprob_BGT, real_BGT)
    step_BGT = sign_BG[..., None] * gap_BGT
    bucket_BGT = jnp.floor(buckets * progress(entropy_BGT, ctx.mask_BGT))
    bucket_BGT = jnp.minimum(bucket_BGT, buckets - 1)
    moved_BGT = 0 * step_BGT
    for index in range(buckets):  # one at a time: no [.., T, buckets] array
        inside_BGT = real_BGT * (bucket_BGT == index)
        moved_BGT = moved_BGT + _standard(step_BGT, inside_BGT, eps)
    outcome_BGT = gate_scale * gate_BGT * broadcast(advantage_BG, ctx)
    return outcome_BGT + weight * moved_BGT


def progress(entropy_BGT: Array, mask_BGT: Array) -> Array:
    """Returns the share of a completion's entropy up to each token, in (0, 1].

    The share of its tokens where the entropies sum to 0.
    """

    def share(x_BGT: Array) -> Array:
        total_BG1 = jnp.sum(x_BGT, -1, keepdims=True)
        return jnp.cumsum(x_BGT, -1) / jnp.where(total_BG1 > 0, total_BG1, 1.0)

    some_BG1 = jnp.sum(entropy_BGT, -1, keepdims=True) > 0
    return jnp.where(some_BG1, share(entropy_BGT), share(mask_BGT))


def _standard(x_BGT: Array, mask_BGT: Array, eps: float) -> Array:
    """Returns x standardised over a group's tokens; 0 if they are equal or below 2."""
    count_B11 = jnp.sum(mask_BGT > 0, (1, 2), keepdims=True).astype(jnp.float32)
    mean_B11 = jnp.sum(masked(x_BGT, mask_BGT), (1, 2), keepdims=True)
    mean_B11 = mean_B11 / jnp.maximum(count_B11, 1)
    deviation_BGT = masked(x_BGT - mean_B11, mask_BGT)
    square_B11 = jnp.sum(deviation_BGT**2, (1, 2), keepdims=True)
    std_B11 = jnp.sqrt(square_B11 / jnp.maximum(count_B11, 1))
    spread_B11 = (count_B11 >= 2) & (std_B11 > 1e-6)
    scale_B11 = jnp.where(spread_B11, std_B11 + eps, 1.0)
    return jnp.where(spread_B11, deviation_BGT / scale_B11, 0.0)
