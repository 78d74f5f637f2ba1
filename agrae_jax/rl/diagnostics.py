"""What a step says of its rollouts: sums and counts, divided only when written."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from agrae_jax.rl.masked import (
    as_sum,
    masked,
    masked_count,
    masked_mean,
    masked_sum,
)
from agrae_jax.types import STOP_LENGTH, AdvantageInput, Metrics, TokenContext

# Success rates p: name, low <= p < high. 0 and 1 teach most methods nothing.
BINS = (
    ("none", 0.0, 1e-6),
    ("to_25", 1e-6, 0.25),
    ("25_to_50", 0.25, 0.5),
    ("50_to_75", 0.5, 0.75),
    ("75_to_100", 0.75, 1 - 1e-6),
    ("all", 1 - 1e-6, 2.0),
)


def diagnostics(inputs: AdvantageInput, advantage_BG: Array, stop_BG: Array) -> Metrics:
    """Returns rewards, success rates, advantage masses, lengths and stops of a step.

    Shares of groups are over groups with a valid sample, shares of completions over
    rows that hold a token; `advantage_positive` and `advantage_negative` are the mass
    of each sign per valid sample, `advantage_group_sum` the mean over groups of the
    sum of advantages (0 for a zero-sum method). `correct_count/C` is the share of
    groups with C correct completions.
    """
    stats = inputs.stats
    row_BG, valid_BG = inputs.length_BG > 0, inputs.valid_BG
    group_B = stats.valid_B > 0
    metrics: Metrics = {
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
    for count in range(inputs.correct_BG.shape[-1] + 1):
        metrics[f"correct_count/{count}"] = as_sum(stats.count_B == count, group_B)
    return metrics | by_success_rate(inputs, advantage_BG)


def by_success_rate(inputs: AdvantageInput, advantage_BG: Array) -> Metrics:
    """Returns what each bin of success rates gets of the update.

    `advantage_positive/BIN` and `advantage_negative/BIN` are a bin's mass of each sign
    per valid sample of the whole batch, so they add up to those without a bin;
    `update_magnitude/BIN` is the mean over the bin's groups of sum |A| (A-GRAE's
    theorem 2: 2 G sqrt(p (1 - p)) for GRPO).
    """
    stats, valid_BG = inputs.stats, inputs.valid_BG
    samples = masked_count(valid_BG)
    metrics: Metrics = {}
    for name, low, high in BINS:
        inside_B = (stats.p_B >= low) & (stats.p_B < high) & (stats.valid_B > 0)
        inside_BG = inside_B[:, None] & (valid_BG > 0)
        for sign, part_BG in (("positive", advantage_BG), ("negative", -advantage_BG)):
            mass = masked_sum(jnp.maximum(part_BG, 0), inside_BG)
            metrics[f"advantage_{sign}/{name}"] = (mass, samples)
        size_B = jnp.sum(jnp.abs(advantage_BG), -1)
        metrics[f"update_magnitude/{name}"] = as_sum(size_B, inside_B)
    return metrics


def rollout_diagnostics(
    inputs: AdvantageInput,
    mask_BGT: Array,
    logprob_BGT: Array,
    entropy_BGT: Array,
    statistic_BGT: Array | None,
) -> Metrics:
    """Returns the entropy of the rollouts, and how their log-probs go with success.

    `logprob_cov` is the mean over groups of the covariance, over a group's valid
    samples, of length-mean log-prob and correctness (+1, -1); `acc_logprob_cov` the
    covariance over groups of that with the success rate (after AsymGRPO, 2604.04894,
    whose own kappa is not published). With a `token_statistic` m, `statistic` is its
    mean and `statistic_entropy` sum m H / sum m.
    """
    valid_BG, stats = inputs.valid_BG * (inputs.length_BG > 0), inputs.stats
    mean_BG = masked_mean(logprob_BGT, mask_BGT, -1)
    sign_BG = 2 * inputs.correct_BG - 1

    def centred(x_BG: Array) -> Array:
        return masked(x_BG - masked_mean(x_BG, valid_BG, -1)[:, None], valid_BG)

    cov_B = masked_mean(centred(mean_BG) * centred(sign_BG), valid_BG, -1)
    group_B = stats.valid_B > 0
    apart_B = stats.p_B - masked_mean(stats.p_B, group_B)
    coupling = masked_mean(apart_B * (cov_B - masked_mean(cov_B, group_B)), group_B)
    metrics: Metrics = {
        "entropy": as_sum(entropy_BGT, mask_BGT),
        "logprob_cov": as_sum(cov_B, group_B),
        "acc_logprob_cov": (coupling, jnp.float32(1)),
    }
    if statistic_BGT is not None:
        weighted = masked_sum(statistic_BGT * entropy_BGT, mask_BGT)
        weight = masked_sum(statistic_BGT, mask_BGT)
        metrics["statistic"] = as_sum(statistic_BGT, mask_BGT)
        metrics["statistic_entropy"] = (weighted, weight)
    return metrics


def logprob_gain(
    before_BGT: Array, after_BGT: Array, mask_BGT: Array, correct_BG: Array
) -> Metrics:
    """Returns what the update did to the log-probs of the correct completions.

    `gain_correct_sum` in nats a completion, `gain_correct_mean` in nats a token,
    averaged over completions; of those that are not correct, `gain_wrong_*`.
    """
    gain_BGT = masked(after_BGT - before_BGT, mask_BGT)
    sum_BG, length_BG = jnp.sum(gain_BGT, -1), jnp.sum(mask_BGT, -1)
    metrics: Metrics = {}
    for name, chosen_BG in (
        ("correct", correct_BG > 0.5),
        ("wrong", correct_BG <= 0.5),
    ):
        rows_BG = chosen_BG & (length_BG > 0)
        metrics[f"gain_{name}_sum"] = as_sum(sum_BG, rows_BG)
        mean_BG = sum_BG / jnp.maximum(length_BG, 1)
        metrics[f"gain_{name}_mean"] = as_sum(mean_BG, rows_BG)
    return metrics


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
