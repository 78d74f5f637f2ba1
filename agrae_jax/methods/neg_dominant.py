"""Negative-Dominant: the control that breaks group symmetry for good (2602.05548).

    A <- A / beta where A > 0

The advantages of a group sum to less than zero, so the logits of what was not sampled
rise. A-GRAE's table 1; beta = 10 there.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import check_positive, resolve
from agrae_jax.rl import shapers
from agrae_jax.types import Method


def make(*, base: str = "grpo", beta: float = 10.0) -> Method:
    """Returns Negative-Dominant on the advantages of `base`; `beta` > 0."""
    check_positive("beta", beta)
    under = resolve(base)
    weigh = partial(shapers.sign_weight, positive=1 / beta, negative=1.0)
    return dataclasses.replace(
        under,
        name="neg_dominant",
        paper="A-GRAE (Negative-Dominant), arXiv 2602.05548",
        formula="A / beta where A > 0 (table 1)",
        shapers=(*under.shapers, weigh),
        zero_sum=False,
    )
