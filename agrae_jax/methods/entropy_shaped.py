"""Entropy-shaped advantages: uncertain tokens count more (2506.14758).

    A_t <- A + min(alpha H_t, |A| / kappa)        H_t at the start of the step

kappa > 1, so no sign flips. The values alpha 0.4 and kappa 2 are those commonly used
with GRPO.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import resolve
from agrae_jax.rl import credit
from agrae_jax.types import Method


def make(*, base: str = "grpo", alpha: float = 0.4, kappa: float = 2.0) -> Method:
    """Returns `base` with entropy-shaped advantages; `kappa` > 1."""
    if not kappa > 1:
        raise UserError(f"method.kwargs.kappa = {kappa} must be above 1, like 2.0")
    under = resolve(base)
    return dataclasses.replace(
        under,
        name="entropy_shaped",
        paper="Reasoning with exploration, arXiv 2506.14758",
        formula="A + min(alpha H, |A| / kappa)",
        credit=partial(credit.entropy_shaped, alpha=alpha, kappa=kappa),
        needs=under.needs | {"old_entropy"},
    )
