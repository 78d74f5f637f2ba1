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


def entropy_bonus(
    ctx: TokenContext, method_state: Any, *, coef: float
) -> tuple[Array, Metrics]:
    """Returns `-coef * entropy` of each token, entropy in nats and with gradient.

    Raises ValueError where the entropies were not computed.
    """
    if ctx.entropy_BGT is None:
        raise ValueError("entropy_bonus needs token_entropy: name it in Method.needs")
    return -coef * masked(ctx.entropy_BGT, ctx.mask_BGT), {}
