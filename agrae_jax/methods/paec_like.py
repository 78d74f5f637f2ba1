"""Experimental: PAEC, an entropy bound at contested positions (after 2606.08543).

    m    = mix u + (1 - mix) p2 / p1      u the normalised entropy of the top-p nucleus
    Hsel = sum m H / sum m                m without gradient, at the start of the step
    loss = base - bonus Hsel + penalty max(0, bound - Hsel)^2
    bound = max(share * Hsel of the first step, floor)

The paper's equations and values were not found; this is an instance of its description.
The slope of the penalty is taken at the rollouts' Hsel, once a step; the loss shows the
term linearised. Exact for the token mean with one optimizer step a rollout.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.methods import resolve, with_state
from agrae_jax.rl import competition, regularizers
from agrae_jax.types import AdvantageInput, Method, Metrics


def make(
    *,
    base: str = "grpo",
    top_p: float = 0.9,
    mix: float = 0.5,
    bonus: float = 0.01,
    penalty: float = 1.0,
    share: float = 0.8,
    floor: float = 0.0,
) -> Method:
    """Returns `base` with the bonus and the penalty; one more forward a step."""
    under = resolve(base)
    method = dataclasses.replace(
        under,
        name="paec_like",
        paper="after PAEC, arXiv 2606.08543",
        formula="- bonus Hsel + penalty max(0, bound - Hsel)^2",
        regularizers=(*under.regularizers, regularizers.position_entropy),
        token_statistic=partial(competition.competition, top_p=top_p, mix=mix),
        needs=under.needs | {"token_entropy"},
        status="experimental",
    )
    calibrate = partial(
        regularizers.calibrate_positions,
        bonus=bonus,
        penalty=penalty,
        share=share,
        floor=floor,
    )

    def update(
        kept: Any, inputs: AdvantageInput, advantage_BG: Array, metrics: Metrics
    ) -> Array:
        return calibrate(kept, metrics)

    return with_state(
        method,
        "positions",
        lambda: jnp.stack([jnp.float32(0), jnp.float32(-1)]),
        update,
    )
