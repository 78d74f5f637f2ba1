"""SAPO: a smooth gate in place of the clip (2511.20347).

    loss = -A sigmoid(tau (ratio - 1)) 4 / tau            sequence mean

tau is larger for negative advantages, whose gate therefore closes sooner.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import check_positive, grpo
from agrae_jax.rl import surrogates
from agrae_jax.types import Method


def make(*, ddof: int = 0, tau_pos: float = 1.0, tau_neg: float = 1.05) -> Method:
    """Returns SAPO on GRPO's advantages; both temperatures > 0."""
    check_positive("tau_pos", tau_pos)
    check_positive("tau_neg", tau_neg)
    return dataclasses.replace(
        grpo.make(ddof=ddof),
        name="sapo",
        paper="SAPO, arXiv 2511.20347",
        formula="-A sigmoid(tau (ratio - 1)) 4 / tau",
        surrogate=partial(surrogates.sapo, tau_pos=tau_pos, tau_neg=tau_neg),
    )
