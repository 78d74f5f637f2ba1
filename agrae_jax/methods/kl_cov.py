"""KL-Cov: a penalty on the tokens of highest covariance (2505.22617).

    covariance = (A - mean A) (log pi - mean log pi)     means over the batch's tokens
    loss = -A ratio + coef |log pi - log pi_old|         on the `share` at the top
    loss = -A ratio                                      elsewhere; no clip anywhere

With one optimizer step a rollout the policy is the old one and the penalty has no
gradient. The recipe's coefficient is 1; verl's default is 0.1.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import grpo
from agrae_jax.rl import surrogates, token_masks
from agrae_jax.types import Method


def make(*, share: float = 2e-4, coef: float = 1.0) -> Method:
    """Returns KL-Cov on GRPO's advantages; `share` of all tokens is held."""
    return dataclasses.replace(
        grpo.make(reduction="token_mean"),
        name="kl_cov",
        paper="KL-Cov, arXiv 2505.22617",
        formula="-A ratio + coef |log-ratio| on the top share of cov(A, log pi)",
        surrogate=partial(surrogates.kl_cov, coef=coef),
        token_select=partial(token_masks.top_covariance, share=share),
        needs=frozenset({"current_first_pass"}),
    )
