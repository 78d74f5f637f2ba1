"""The loss as a weighted sum: order of its parts, padding, splits, bad rewards."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import importance, loss, regularizers
from tests.rl import softmax_policy as sp
from tests.rl.contexts import f32, one_row, reward_input

GRPO = methods.resolve("grpo")


def test_advantages_compose_reward_base_and_shapers_in_order():
    method = dataclasses.replace(
        GRPO,
        reward=lambda inputs: 10 * inputs.correct_BG,
        base=lambda inputs: inputs.reward_BG - 1,
        shapers=(lambda a, inputs: a + 1, lambda a, inputs: a * inputs.stats.omega),
    )
    seen, advantage_BG = loss.advantages(reward_input([[1, 0, 0, 1]]), method=method)
    np.testing.assert_allclose(seen.reward_BG, [[10, 0, 0, 10]])
    np.testing.assert_allclose(advantage_BG, [[5, 0, 0, 5]])
    assert seen.stats.p_B[0] == 0.5  # of correctness, not of the reward


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), -1e30])
def test_an_ungradable_sample_poisons_nothing(poison):
    method = dataclasses.replace(
        GRPO,
        reward=lambda inputs: jnp.where(inputs.valid_BG > 0, inputs.correct_BG, poison),
    )
    inputs = reward_input([[1, poison, 0, 0]], valid=[[1, 0, 1, 1]])
    seen, advantage_BG = loss.advantages(inputs, method=method)
    _, alone = loss.advantages(reward_input([[1, 0, 0]]), method=GRPO)
    np.testing.assert_allclose(advantage_BG[0, [0, 2, 3]], alone[0], rtol=1e-6)
    assert advantage_BG[0, 1] == 0.0
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(seen))


def test_advantages_are_float32_and_carry_no_gradient():
    def total(reward):
        method = dataclasses.replace(GRPO, reward=lambda _: reward)
        return (loss.advantages(reward_input([[1, 0]]), method=method)[1] ** 2).sum()

    reward = jnp.asarray([[1.0, 0.0]], jnp.bfloat16)
    np.testing.assert_array_equal(jax.grad(total)(reward), 0.0)
    method = dataclasses.replace(GRPO, reward=lambda _: reward)
    _, advantage_BG = loss.advantages(reward_input([[1, 0]]), method=method)
    assert advantage_BG.dtype == jnp.float32


def test_loss_is_weight_times_keep_times_importance_times_surrogate_plus_terms():
    method = dataclasses.replace(
        GRPO,
        surrogate=lambda ctx, advantage: (-advantage, {}),
        importance=partial(importance.truncated_token, cap=2.0),
        regularizers=(partial(regularizers.entropy_bonus, coef=0.1),),
    )
    ctx = one_row(
        [-1.0, -1.0, -1.0],
        sampler=[-2.0, -1.0, -1.0],  # importance 2, 1, 1
        entropy=[1.0, 2.0, 3.0],
        weight=[0.5, 0.25, 0.25],
    )
    value, _ = loss.rlvr_loss(
        ctx, f32([[[3.0, 3.0, 3.0]]]), f32([[[1, 0, 1]]]), (), method=method
    )
    # .5 (-6 - .1) + .25 (0 - .2) + .25 (-3 - .3)
    np.testing.assert_allclose(value, -3.05 - 0.05 - 0.825, rtol=1e-6)


@pytest.mark.parametrize("junk", [float("nan"), 1e30, -1e30])
def test_padding_sends_nothing_into_value_or_gradient(junk):
    method = methods.override(GRPO, kl_coef=0.1, entropy_coef=0.1)

    def run(logprob, pad):
        ctx = one_row(
            [-1.0, -2.0, 0.0],
            old=[-1.1, -1.9, pad],
            ref=[-1.2, -1.8, pad],
            entropy=[1.0, 1.0, pad],
            mask=[1, 1, 0],
            weight=[0.5, 0.5, 0],
        )
        ctx = dataclasses.replace(ctx, logprob_BGT=logprob)
        advantage = f32([[[1.0, 1.0, 0.0]]])
        return loss.rlvr_loss(ctx, advantage, jnp.ones((1, 1, 3)), (), method=method)

    clean, grad = jax.value_and_grad(lambda x: run(x, 0.0)[0])(f32([[[-1, -2, 0]]]))
    dirty, bad = jax.value_and_grad(lambda x: run(x, junk)[0])(f32([[[-1, -2, junk]]]))
    np.testing.assert_array_equal(clean, dirty)
    np.testing.assert_array_equal(grad, bad)
    assert bad[0, 0, 2] == 0.0 and (bad[0, 0, :2] != 0).all()
    for total, count in run(f32([[[-1, -2, junk]]]), junk)[1].values():
        assert np.isfinite(total) and count == 2.0


def test_a_part_that_is_nan_at_padding_does_no_harm():
    def surrogate(ctx, advantage_BGT):
        return jnp.where(ctx.mask_BGT > 0, -advantage_BGT, jnp.nan), {}

    method = dataclasses.replace(GRPO, surrogate=surrogate)
    ctx = one_row([-1.0, 0.0], mask=[1, 0], weight=[0.5, 0])
    ones = jnp.ones((1, 1, 2))
    assert loss.rlvr_loss(ctx, ones, ones, (), method=method)[0] == -0.5


def test_keep_multiplies_the_surrogate_and_its_gradient():
    keep = (np.arange(sp.T) < 2).astype(np.float32)
    whole = sp.loss_gradient(GRPO, keep=1.0)
    part = sp.loss_gradient(GRPO, keep=keep)
    np.testing.assert_allclose(part[:2], whole[:2], rtol=1e-6)
    assert (part[2] == 0).all() and (whole[2] != 0).any()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
