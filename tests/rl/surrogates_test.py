"""Surrogates: literal values, and gradients against a numpy softmax policy."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import surrogates
from tests.rl import softmax_policy as sp
from tests.rl.contexts import f32, one_row

PPO = partial(surrogates.ppo_clip, low=0.2, high=0.2, dual=0.0)
DUAL = partial(surrogates.ppo_clip, low=0.2, high=0.2, dual=3.0)
HIGHER = partial(surrogates.ppo_clip, low=0.2, high=0.28, dual=0.0)


def at_ratio(surrogate, ratios, advantage):
    log_ratios = np.log(np.asarray(ratios))
    ctx = one_row(log_ratios - 2.0, old=np.full(len(ratios), -2.0))
    loss_BGT, metrics = surrogate(ctx, jnp.full((1, 1, len(ratios)), advantage))
    return np.asarray(loss_BGT)[0, 0], metrics


@pytest.mark.parametrize(
    "surrogate, advantage, ratios, losses",
    [
        (PPO, 1.0, [0.5, 1.2, 1.5, 4.0], [-0.5, -1.2, -1.2, -1.2]),
        (HIGHER, 1.0, [1.25, 1.5], [-1.25, -1.28]),
        (PPO, -1.0, [0.5, 1.0, 1.5, 3.0, 4.0], [0.8, 1.0, 1.5, 3.0, 4.0]),
        (DUAL, -1.0, [0.5, 1.0, 1.5, 3.0, 4.0], [0.8, 1.0, 1.5, 3.0, 3.0]),
        (DUAL, 1.0, [0.5, 4.0], [-0.5, -1.2]),
    ],
)
def test_ppo_clip_values(surrogate, advantage, ratios, losses):
    np.testing.assert_allclose(
        at_ratio(surrogate, ratios, advantage)[0], losses, rtol=1e-6, atol=1e-6
    )


def test_a_dual_clip_far_away_is_none():
    ratios = [0.1, 1.0, 3.0, 50.0]
    far, _ = at_ratio(partial(DUAL, dual=1e9), ratios, -1.0)
    np.testing.assert_array_equal(far, at_ratio(PPO, ratios, -1.0)[0])


def test_ppo_clip_metrics():
    _, metrics = at_ratio(DUAL, [0.5, 1.0, 1.5, 4.0], -1.0)
    assert metrics["clip_fraction"] == (1.0, 4.0)  # 0.5 is below 0.8
    assert metrics["clip_fraction_low"] == (1.0, 4.0)  # 4 is above 3
    total, count = metrics["approx_kl"]
    np.testing.assert_allclose(total / count, -np.log(0.5 * 1.5 * 4) / 4, rtol=1e-6)
    assert "clip_fraction_low" not in at_ratio(PPO, [1.0], -1.0)[1]


def test_log_ratio_is_clamped():
    loss, _ = at_ratio(PPO, [np.exp(50.0)], -1.0)
    np.testing.assert_allclose(loss, np.exp(20.0), rtol=1e-5)


def method_with(surrogate):
    return dataclasses.replace(methods.resolve("grpo"), surrogate=surrogate)


def ppo_slope(low, high, dual=np.inf):
    ratio, adv = np.exp(sp.LOG_RATIO), sp.ADVANTAGE
    dropped = ((adv > 0) & (ratio > 1 + high)) | ((adv < 0) & (ratio < 1 - low))
    dropped |= (adv < 0) & (ratio > dual)
    return np.where(dropped, 0.0, -adv * ratio)


@pytest.mark.parametrize(
    "surrogate, slope",
    [
        (PPO, ppo_slope(0.2, 0.2)),
        (HIGHER, ppo_slope(0.2, 0.28)),
        (partial(DUAL, dual=1.05), ppo_slope(0.2, 0.2, 1.05)),
        (surrogates.reinforce, -sp.ADVANTAGE),
    ],
    ids=["ppo", "clip_higher", "dual", "reinforce"],
)
def test_gradient_is_that_of_the_softmax_policy(surrogate, slope):
    np.testing.assert_allclose(
        sp.loss_gradient(method_with(surrogate)),
        sp.expected_gradient(slope),
        rtol=5e-6,
        atol=5e-6,
    )


def test_the_oracle_clips_something():
    kept = ppo_slope(0.2, 0.2) != 0
    assert 0 < kept.sum() < (sp.MASK * (sp.ADVANTAGE != 0)).sum()
    assert (ppo_slope(0.2, 0.2, 1.05) != ppo_slope(0.2, 0.2)).any()


def test_gradient_is_whole_on_policy():
    # A tie of the two sides inside the range must not halve the gradient.
    ctx = one_row([-1.0])

    def loss(logprob):
        moved = dataclasses.replace(ctx, logprob_BGT=logprob)
        return PPO(moved, f32([[[2.0]]]))[0].sum()

    np.testing.assert_allclose(jax.grad(loss)(f32([[[-1.0]]])), -2.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
