"""What a step says of its rollouts: sums and counts, divided only when written."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import as_sum
from agrae_jax.types import STOP_LENGTH, AdvantageInput, Metrics, TokenContext


def diagnostics(inputs: AdvantageInput, advantage_BG: Array, stop_BG: Array) -> Metrics:
    """Returns rewards, success rates, advantage masses, lengths and stops of a step.

    Shares of groups are over groups with a valid sample, shares of completions over
    rows that hold a token; `advantage_positive` and `advantage_negative` are the mass
    of each sign per valid sample, `advantage_group_sum` the mean over groups of the
    sum of advantages (0 for a zero-sum method).
    """
    stats = inputs.stats
    row_BG, valid_BG = inputs.length_BG > 0, inputs.valid_BG
    group_B = stats.valid_B > 0
    return {
        "reward": as_sum(inputs.reward_BG, valid_BG),
        "correct": as_sum(inputs.correct_BG, valid_BG),
        "omega": (stats.omega, jnp.float32(1)),
        "all_solved": as_sum(stats.count_B == stats.valid_B, group_B),
        "none_solved": as_sum(stats.count_B == 0, group_B),
        "dead_groups": as_sum(stats.degenerate_B, group_B),
        "advantage_positive": as_sum(jnp.maximum(advantage_BG, 0), valid_BG),
        "advantage_negative": as_sum(jnp.maximum(-advantage_BG, 0), valid_BG),
        "advantage_group_sum": as_sum(jnp.sum(advantage_BG, -1), group_B),
        "length": as_sum(inputs.length_BG, row_BG),
        "truncated": as_sum(stop_BG == STOP_LENGTH, row_BG),
        "ungradable": as_sum(valid_BG == 0, row_BG),
    }


def token_diagnostics(ctx: TokenContext) -> Metrics:
    """Returns how far the scorer is from the sampler, in nats, over trained tokens.

    `sampler_diff` is |log-prob of the scorer - of the sampler| under the policy at the
    start of the step, `sampler_diff_sq` its square: zero but for rounding where
    neither truncates.
    """
    difference_BGT = ctx.old_logprob_BGT - ctx.sampler_logprob_BGT
    return {
        "sampler_diff": as_sum(jnp.abs(difference_BGT), ctx.mask_BGT),
        "sampler_diff_sq": as_sum(jnp.square(difference_BGT), ctx.mask_BGT),
    }
