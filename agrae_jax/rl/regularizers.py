"""Regularizers: terms added to the loss of each token, before weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import as_sum, masked
from agrae_jax.types import Metrics, TokenContext

Estimator = Callable[[Array], Array]  # d = log pi_ref - log pi -> KL(pi || ref)


def k1(d: Array) -> Array:
    """Returns `-d`: unbiased value; as a loss its expected gradient is 0."""
    return -d


def k2(d: Array) -> Array:
    """Returns `d^2 / 2`: as a loss its expected gradient is that of KL(pi || ref)."""
    return d**2 / 2


def k3(d: Array) -> Array:
    """Returns `exp(d) - d - 1`: unbiased, never negative (GRPO).

    As a loss, its expected gradient is that of the other KL, KL(ref || pi).
    """
    return jnp.expm1(d) - d


ESTIMATORS: dict[str, Estimator] = {"k1": k1, "k2": k2, "k3": k3}


def kl_penalty(
    ctx: TokenContext, method_state: Any, *, coef: float, estimator: Estimator
) -> tuple[Array, Metrics]:
    """Returns `coef * estimator(log pi_ref - log pi)` of each token.

    Raises ValueError where the reference log-probs were not computed.
    """
    if ctx.ref_logprob_BGT is None:
        raise ValueError("kl_penalty needs ref_logprob: name it in Method.needs")
    d_BGT = masked(ctx.ref_logprob_BGT - ctx.logprob_BGT, ctx.mask_BGT)
    kl_BGT = estimator(jnp.clip(d_BGT, -20.0, 20.0))
    return coef * kl_BGT, {"kl_ref": as_sum(kl_BGT, ctx.mask_BGT)}


def adaptive_entropy_bonus(
    ctx: TokenContext, method_state: Any
) -> tuple[Array, Metrics]:
    """Returns `-coef * entropy` with the coefficient that `adapt_entropy` keeps."""
    return entropy_bonus(ctx, method_state, coef=method_state["adaptive_entropy"][0])


def adapt_entropy(
    state_2: Array, metrics: Metrics, *, target: float, delta: float
) -> Array:
    """Returns (coefficient in use, coefficient c) of the next update (2505.22312).

    In use is `c` while the mean entropy of the rollouts is at most `target`, else 0;
    then `c` grows or shrinks by `delta`, within [0, 1].
    """
    total, count = metrics["entropy"]
    low = total / jnp.maximum(count, 1) <= target
    c = state_2[1]
    moved = jnp.clip(jnp.where(low, c + delta, c - delta), 0.0, 1.0)
    return jnp.stack([jnp.where(low, c, 0.0), moved])


def position_entropy(ctx: TokenContext, method_state: Any) -> tuple[Array, Metrics]:
    """Returns `-push m H` of each token, m its `token_statistic` (after PAEC).

    `push` comes from `calibrate_positions`. Raises ValueError where either is missing.
    """
    if ctx.entropy_BGT is None or ctx.statistic_BGT is None:
        raise ValueError("position_entropy needs token_entropy and a token_statistic")
    # Each masked alone: a product's gradient would carry NaN from padding.
    m_BGT = masked(ctx.statistic_BGT, ctx.mask_BGT)
    entropy_BGT = masked(ctx.entropy_BGT, ctx.mask_BGT)
    return -method_state["positions"][0] * m_BGT * entropy_BGT, {}


def calibrate_positions(
    state_2: Array,
    metrics: Metrics,
    *,
    bonus: float,
    penalty: float,
    share: float,
    floor: float,
) -> Array:
    """Returns (push, anchor) for `position_entropy`, from the step's rollouts.

    With Hsel = sum m H / sum m, the push is the slope of `-bonus Hsel + penalty *
    shortfall^2` in Hsel, over the mean of m. The anchor, below 0 until then, is Hsel of
    the first step.
    """
    weighted, weight = metrics["statistic_entropy"]
    total, count = metrics["statistic"]
    selected = weighted / (weight + 1e-8)
    anchor = jnp.where(state_2[1] < 0, selected, state_2[1])
    gap = entropy_shortfall(selected, anchor, share=share, floor=floor)
    mean = total / jnp.maximum(count, 1)
    return jnp.stack([(bonus + 2 * penalty * gap) / (mean + 1e-8), anchor])


def entropy_shortfall(
    selected: Array, anchor: Array, *, share: float, floor: float
) -> Array:
    """Returns `max(0, max(share * anchor, floor) - selected)`: below a bound only."""
    return jnp.maximum(jnp.maximum(share * anchor, floor) - selected, 0.0)


def entropy_bonus(
    ctx: TokenContext, method_state: Any, *, coef: Array | float
) -> tuple[Array, Metrics]:
    """Returns `-coef * entropy` of each token, entropy in nats and with gradient.

    Raises ValueError where the entropies were not computed.
    """
    if ctx.entropy_BGT is None:
        raise ValueError("entropy_bonus needs token_entropy: name it in Method.needs")
    return -coef * masked(ctx.entropy_BGT, ctx.mask_BGT), {}
