"""Masked importance sampling between sampler and trainer (IcePop).

    loss of a token * pi_old / pi_sampler, or 0 where that leaves [low, high]

the weight without gradient, after clipping. `level` "sequence" takes the product over
a completion.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import choose, resolve
from agrae_jax.rl import importance
from agrae_jax.types import Method

LEVELS = {
    "token": importance.masked_token,
    "sequence": importance.masked_sequence,
}


def make(
    *, base: str = "grpo", level: str = "token", low: float = 0.5, high: float = 2.0
) -> Method:
    """Returns `base` with importance weights that drop what leaves [low, high]."""
    if low > high:
        raise UserError(f"method.kwargs.low = {low} must be at most high = {high}")
    return dataclasses.replace(
        resolve(base),
        name="mis",
        paper="Masked IS (IcePop; TRL)",
        formula="loss * w, 0 where w = pi_old / pi_sampler leaves [low, high]",
        importance=partial(choose("level", level, LEVELS), low=low, high=high),
    )
