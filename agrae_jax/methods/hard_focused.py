"""Hard-Focused: the control that breaks sample symmetry for good (2602.05548).

    A <- gamma A / sqrt(p)      for 0 < p < 1

gamma = 0.5 keeps the greatest total weight of a prompt at that of GRPO. Advantages
still sum to zero in a group. A-GRAE's table 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

from jax import Array

from agrae_jax.methods import check_positive, resolve
from agrae_jax.rl import shapers
from agrae_jax.types import Method


def make(*, base: str = "grpo", gamma: float = 0.5) -> Method:
    """Returns Hard-Focused on the advantages of `base`; `gamma` > 0."""
    return dataclasses.replace(
        focused(base, gamma, shapers.hard_focus),
        name="hard_focused",
        paper="A-GRAE (Hard-Focused), arXiv 2602.05548",
        formula="gamma A / sqrt(p) (table 1)",
    )


def focused(base: str, gamma: float, focus: Callable[..., Array]) -> Method:
    """Returns `base` with `focus(.., gamma)` as its last shaper; `gamma` > 0."""
    check_positive("gamma", gamma)
    under = resolve(base)
    return dataclasses.replace(
        under, shapers=(*under.shapers, partial(focus, gamma=gamma))
    )
