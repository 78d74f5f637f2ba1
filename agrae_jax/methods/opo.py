"""OPO: the baseline of a group weighs rewards by length (2505.23585).

    A = r - sum(length r) / sum(length)

Under the clipped loss with a token mean; advantages of a group do not sum to zero.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods import grpo
from agrae_jax.rl import advantages
from agrae_jax.types import Method


def make() -> Method:
    """Returns OPO."""
    return dataclasses.replace(
        grpo.make(reduction="token_mean"),
        name="opo",
        paper="OPO, arXiv 2505.23585",
        formula="r - sum(length r) / sum(length)",
        base=advantages.length_baseline,
        zero_sum=False,
    )
