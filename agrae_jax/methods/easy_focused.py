"""Easy-Focused: the control that breaks sample symmetry for good (2602.05548).

    A <- gamma A / sqrt(1 - p)      for 0 < p < 1

gamma = 0.5 keeps the greatest total weight of a prompt at that of GRPO. Advantages
still sum to zero in a group. A-GRAE's table 1.
"""

from __future__ import annotations

import dataclasses

from agrae_jax.methods.hard_focused import focused
from agrae_jax.rl import shapers
from agrae_jax.types import Method


def make(*, base: str = "grpo", gamma: float = 0.5) -> Method:
    """Returns Easy-Focused on the advantages of `base`; `gamma` > 0."""
    return dataclasses.replace(
        focused(base, gamma, shapers.easy_focus),
        name="easy_focused",
        paper="A-GRAE (Easy-Focused), arXiv 2602.05548",
        formula="gamma A / sqrt(1 - p) (table 1)",
    )
