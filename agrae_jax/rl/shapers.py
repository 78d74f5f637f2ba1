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
