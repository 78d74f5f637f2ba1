"""Best of group: only the best completion learns, by its lead (2503.19595).

    A = r_max - r_second for the best completion, 0 for the others

With rewards of 0 and 1, a group teaches if exactly one of its completions is right.
`normalize` divides by the group's sample deviation.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import jax.numpy as jnp
from jax import Array

from agrae_jax.methods import grpo
from agrae_jax.types import AdvantageInput, Method


def make(*, normalize: bool = True) -> Method:
    """Returns best of group."""
    return dataclasses.replace(
        grpo.make(ddof=1, reduction="token_mean"),
        name="best_of_group",
        paper="Pass@k policy optimisation, arXiv 2503.19595",
        formula="r_max - r_second for the best, 0 elsewhere",
        base=partial(_lead, normalize=normalize),
        zero_sum=False,
    )


def _lead(inputs: AdvantageInput, *, normalize: bool, eps: float = 1e-6) -> Array:
    reward_BG = jnp.where(inputs.valid_BG > 0, inputs.reward_BG, -jnp.inf)
    second_B1, first_B1 = jnp.split(jnp.sort(reward_BG, -1)[:, -2:], 2, -1)
    scale_B1 = (inputs.stats.std_B + eps)[:, None] if normalize else 1.0
    lead_BG = jnp.where(reward_BG == first_B1, (first_B1 - second_B1) / scale_B1, 0.0)
    return jnp.where(inputs.stats.degenerate_B[:, None], 0.0, lead_BG)
