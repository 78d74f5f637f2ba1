"""SEC, a self-evolving curriculum: levels are the arms of a bandit (2505.14970).

    level ~ softmax(Q / temperature), a problem of it uniformly, for every prompt
    Q <- rate * mean |A| of the level's completions + (1 - rate) Q

Advantages stay those of `base`. For GRPO, mean |A| is 2 sqrt(p (1 - p)): levels solved
half of the time are drawn most. Q starts at 0, is in the checkpoint, and a level that
was not drawn keeps its own. The paper's rate and temperature were not found; those
here are a port's. The data must name a level for its problems.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from agrae_jax.errors import UserError
from agrae_jax.methods import check_positive, resolve, with_state
from agrae_jax.types import AdvantageInput, Curriculum, Method, Metrics


def make(
    *, base: str = "grpo", rate: float = 0.5, temperature: float = 1.0, arms: int = 32
) -> Method:
    """Returns `base` under the curriculum; `rate` in (0, 1], at most `arms` levels."""
    check_positive("temperature", temperature)
    if not 0 < rate <= 1:
        raise UserError(f"method.kwargs.rate = {rate} must lie in (0, 1], like 0.5")
    if arms < 2:
        raise UserError(f"method.kwargs.arms = {arms} must be at least 2, like 32")
    method = dataclasses.replace(
        resolve(base),
        name="sec",
        paper="SEC, arXiv 2505.14970",
        formula="level ~ softmax(Q / temperature); Q by mean |A|",
        curriculum=Curriculum(arms=arms, rate=rate, temperature=temperature),
    )

    def keep(
        value_A: Any, inputs: AdvantageInput, advantage_BG: Array, metrics: Metrics
    ) -> Any:
        return value_A  # moved by `feed.py`, which knows the levels

    return with_state(
        method, "curriculum", lambda: jnp.stack([jnp.float32(0)] * arms), keep
    )
