"""Shapers: `advantage_BG` -> `advantage_BG`, by group or batch statistics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jax import Array

from agrae_jax.types import AdvantageInput, ShaperFn


def difficulty_shift(
    advantage_BG: Array,
    inputs: AdvantageInput,
    *,
    easy: Callable[[Array], Array],
    eps: float,
) -> Array:
    """Moves attention from easy to hard prompts as the policy learns (A-GRAE eq. 12).

    `A * (omega / (2 sqrt(p)) + (1 - omega) / (2 easy(p)))` for 0 < p < 1, else `A`;
    `eps` is added to what each term divides by.
    """
    p_B, omega = inputs.stats.p_B, inputs.stats.omega
    mixed_B = (p_B > 0) & (p_B < 1)
    p_B = jnp.where(mixed_B, p_B, 0.5)  # any p that divides by no zero
    hard_B = omega / (2 * (jnp.sqrt(p_B) + eps))
    easy_B = (1 - omega) / (2 * (easy(p_B) + eps))
    return advantage_BG * jnp.where(mixed_B, hard_B + easy_B, 1.0)[:, None]


DIFFICULTY_SHIFTS: dict[str, ShaperFn] = {
    # The paper's form.
    "sqrt1mp": partial(difficulty_shift, easy=lambda p_B: jnp.sqrt(1 - p_B), eps=0.0),
    # The authors' released code: unbounded as p -> 1, so far more easy-focused.
    "one_minus_sqrt": partial(
        difficulty_shift, easy=lambda p_B: 1 - jnp.sqrt(p_B), eps=1e-6
    ),
}


def attenuate_positive(
    advantage_BG: Array, inputs: AdvantageInput, *, alpha: float
) -> Array:
    """Damps positive advantages while the policy is weak (A-GRAE eq. 13).

    `A * min(1, omega / alpha)` where `A > 0`, else `A`.
    """
    damping = jnp.minimum(1.0, inputs.stats.omega / alpha)
    return jnp.where(advantage_BG > 0, advantage_BG * damping, advantage_BG)


def sign_weight(
    advantage_BG: Array, inputs: AdvantageInput, *, positive: float, negative: float
) -> Array:
    """Weighs the two signs by constants (A-GRAE table 1, Positive-/Negative-Dominant).

    `positive * A` where `A > 0`, else `negative * A`.
    """
    return advantage_BG * jnp.where(advantage_BG > 0, positive, negative)


def hard_focus(advantage_BG: Array, inputs: AdvantageInput, *, gamma: float) -> Array:
    """Returns `gamma A / sqrt(p)` for 0 < p < 1, else `A` (A-GRAE table 1)."""
    return _divide_by_root(advantage_BG, inputs.stats.p_B, gamma)


def easy_focus(advantage_BG: Array, inputs: AdvantageInput, *, gamma: float) -> Array:
    """Returns `gamma A / sqrt(1 - p)` for 0 < p < 1, else `A` (A-GRAE table 1)."""
    return _divide_by_root(advantage_BG, 1 - inputs.stats.p_B, gamma)


def _divide_by_root(advantage_BG: Array, share_B: Array, gamma: float) -> Array:
    mixed_B = (share_B > 0) & (share_B < 1)
    factor_B = gamma / jnp.sqrt(jnp.where(mixed_B, share_B, 1.0))
    return advantage_BG * jnp.where(mixed_B, factor_B, 1.0)[:, None]


def focal(advantage_BG: Array, inputs: AdvantageInput, *, gamma: float) -> Array:
    """Returns `(1 - p)^gamma A`: less from solved prompts (F-GRPO, 2602.06717)."""
    return advantage_BG * ((1 - inputs.stats.p_B) ** gamma)[:, None]


def logistic_difficulty(
    advantage_BG: Array,
    inputs: AdvantageInput,
    *,
    low: float,
    high: float,
    center: float,
    slope: float,
) -> Array:
    """Weighs by difficulty, the other way round for the two signs (GRPO-LEAD).

    `A w(p)` where `A > 0`, else `A w(1 - p)`, with
    `w(x) = low + (high - low) / (1 + exp(slope (x - center)))` (2504.09696).
    """

    def weight(x_B: Array) -> Array:
        return low + (high - low) / (1 + jnp.exp(slope * (x_B - center)))

    p_B1 = inputs.stats.p_B[:, None]
    return advantage_BG * jnp.where(advantage_BG > 0, weight(p_B1), weight(1 - p_B1))
