"""Experimental: AsymGRPO's advantage flip, as we read its name (2604.04894).

    flip "positive"    A = (p / (1 - p))^beta where correct
    flip "negative"    A = -((1 - p) / p)^beta where wrong

One curve is mirrored in p, the other is GRPO's at beta 1/2. The paper's definition of
its flip test was not found. p is kept in [1 / 2n, 1 - 1 / 2n], where a flipped curve
would be infinite; so groups of equal rewards do teach.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import check_positive, choose, grpo
from agrae_jax.rl import advantages
from agrae_jax.types import Method

SIGNS = {"positive": (-1, 1), "negative": (1, -1)}


def make(*, flip: str = "positive", beta: float = 0.5) -> Method:
    """Returns GRPO with one flipped curve; `flip` is positive or negative."""
    check_positive("beta", beta)
    right, wrong = choose("flip", flip, SIGNS)
    return dataclasses.replace(
        grpo.make(reduction="token_mean"),
        name="asym_flip_like",
        paper="after AsymGRPO's flip test, arXiv 2604.04894",
        formula="one curve of asym_grpo mirrored in p",
        base=partial(
            advantages.odds_power, beta_pos=right * beta, beta_neg=wrong * beta
        ),
        zero_sum=False,
        dead_groups_zero=False,
        status="experimental",
    )
