"""Pass@k training: the advantage of a sample in a random set of k (2508.10751).

The reward of a set is its best sample's, so prompts that k samples nearly always
solve stop teaching; with fewer than k wrong samples a group gives nothing. The
analytical form, exact over all sets; k = 1 is GRPO.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import advantages
from agrae_jax.types import Method


def make(*, k: int = 4, eps: float = 1e-6) -> Method:
    """Returns pass@k training; `k` >= 1 samples a set."""
    if k < 1:
        raise UserError(f"method.kwargs.k = {k} must be at least 1, like 4")
    return dataclasses.replace(
        grpo.make(),
        name="pass_at_k_training",
        paper="Pass@k training, arXiv 2508.10751",
        formula="mean over sets of k of (best reward - rho) / sigma",
        base=partial(advantages.pass_at_k, k=k, eps=eps),
    )
