"""REINFORCE++: rewards whitened over all tokens of the batch (2501.03262).

    A = (r - m) / sqrt(v + 1e-8)      m, v over the tokens of the rollout batch

with the clipped loss and a token mean. `group_baseline` subtracts the group's mean
first (REINFORCE++-baseline). With a discount or a KL in the reward, tokens differ:

    R_t = x_t + gamma R_(t+1)         x_t = -kl_coef (log pi_old - log pi_ref), and the
                                      reward at the last token

and R is whitened. The papers' runs take gamma 1.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import grpo
from agrae_jax.rl import advantages, credit
from agrae_jax.types import Method


def make(
    *, group_baseline: bool = False, gamma: float = 1.0, kl_coef: float = 0.0
) -> Method:
    """Returns REINFORCE++, or its form with a group baseline; `gamma` in (0, 1]."""
    if not 0 < gamma <= 1:
        raise UserError(f"method.kwargs.gamma = {gamma} must lie in (0, 1]")
    per_token = gamma < 1 or kl_coef > 0
    if per_token and group_baseline:
        raise UserError(
            "method.kwargs.group_baseline gives every token one advantage: it takes"
            " neither gamma below 1 nor kl_coef"
        )
    method = dataclasses.replace(
        grpo.make(reduction="token_mean"),
        name="reinforce_pp",
        paper="REINFORCE++, arXiv 2501.03262",
        formula="returns whitened over the batch's tokens",
        base=partial(advantages.whiten, group_baseline=group_baseline),
        zero_sum=False,
        dead_groups_zero=False,
    )
    if not per_token:
        return method
    return dataclasses.replace(
        method,
        base=advantages.reward_itself,
        credit=partial(credit.whitened_returns, gamma=gamma, kl_coef=kl_coef),
        needs=frozenset({"ref_logprob", "old_logprob"} if kl_coef else ()),
    )
