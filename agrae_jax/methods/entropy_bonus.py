"""GRPO with an entropy bonus: `loss - coef * entropy`, averaged like the loss.

Our reading of the entropy-promoting baseline in A-GRAE's table 6 (2602.05548), whose
coefficient the paper does not give. On any method the same is `loss.entropy_coef`.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods import override, resolve
from agrae_jax.types import Method


def make(*, base: str = "grpo", coef: float = 0.01) -> Method:
    """Returns `base` with an entropy bonus of `coef` per nat."""
    under = resolve(base)
    return dataclasses.replace(
        override(under, entropy_coef=coef),
        name="entropy_bonus",
        paper="Entropy bonus, as in A-GRAE table 6, arXiv 2602.05548",
        formula="loss - coef H",
        status="inferred" if under.status == "exact" else under.status,
    )
