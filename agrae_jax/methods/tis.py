"""Truncated importance sampling between sampler and trainer.

    loss of a token * min(pi_old / pi_sampler, cap)

the weight without gradient, after clipping. `level` "sequence" takes the product over
a completion. verl and tunix take a cap of 2.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import check_positive, choose, resolve
from agrae_jax.rl import importance
from agrae_jax.types import Method

LEVELS = {
    "token": importance.truncated_token,
    "sequence": importance.truncated_sequence,
}


def make(*, base: str = "grpo", level: str = "token", cap: float = 2.0) -> Method:
    """Returns `base` with truncated importance weights; `cap` > 0."""
    check_positive("cap", cap)
    return dataclasses.replace(
        resolve(base),
        name="tis",
        paper="Truncated IS (flash-rl; verl, tunix, TRL)",
        formula="loss * min(pi_old / pi_sampler, cap)",
        importance=partial(choose("level", level, LEVELS), cap=cap),
    )
