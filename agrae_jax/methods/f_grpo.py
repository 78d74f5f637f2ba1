"""F-GRPO: a focal weight keeps rare correct answers alive (2602.06717).

    A <- (1 - p)^gamma A

A prompt that is mostly solved reinforces its common answers only a little. The paper
puts it on GRPO, DAPO and CISPO, with gamma of 0.5 or 1.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import resolve
from agrae_jax.rl import shapers
from agrae_jax.types import Method


def make(*, base: str = "grpo", gamma: float = 0.5) -> Method:
    """Returns F-GRPO on the advantages of `base`; `gamma` >= 0, where 0 is `base`."""
    if gamma < 0:
        raise UserError(f"method.kwargs.gamma = {gamma} must not be negative")
    under = resolve(base)
    return dataclasses.replace(
        under,
        name="f_grpo",
        paper="F-GRPO, arXiv 2602.06717",
        formula="(1 - p)^gamma A",
        shapers=(*under.shapers, partial(shapers.focal, gamma=gamma)),
    )
