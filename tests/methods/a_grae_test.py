"""A-GRAE: literal vectors and the theorem on unsampled logits (methods.md 5)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from agrae_jax.rl import loss, reductions
from tests.rl.contexts import f32, reward_input, token_context

COUNTS = (1, 7, 4, 0)  # correct of 8: omega = .375
INPUTS = reward_input([[1.0] * k + [0.0] * (8 - k) for k in COUNTS])


def advantages(name="a_grae", inputs=INPUTS, **kwargs):
    return loss.advantages(inputs, method=methods.resolve(name, **kwargs))[1]


@pytest.mark.parametrize(
    "kwargs, expected",
    [
        (
            {},
            [(0.857624, -0.326714), (0.153689, -2.868857), (0.265165, -0.707105)],
        ),
        (
            {"ddof": 1},
            [(0.802234, -0.305613), (0.143763, -2.683571), (0.248039, -0.661437)],
        ),
        (
            {"ddof": 1, "easy": "one_minus_sqrt"},
            [(0.940827, -0.358410), (0.668069, -12.470622), (0.467275, -1.246066)],
        ),
    ],
    ids=["paper", "sample_std", "code"],
)
def test_literal_advantages(kwargs, expected):
    found = advantages(**kwargs)
    for row, k, (right, wrong) in zip(found, COUNTS, expected, strict=False):
        np.testing.assert_allclose(row[:k], right, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(row[k:], wrong, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found[3], 0.0)


def test_each_level_alone():
    grpo = advantages("grpo")
    neither = advantages(sample_level=False, group_level=False)
    np.testing.assert_array_equal(neither, grpo)
    group = advantages(sample_level=False)
    np.testing.assert_allclose(
        group, jnp.where(grpo > 0, 0.375 * grpo, grpo), rtol=1e-6
    )
    sample = advantages(group_level=False)
    assert not np.allclose(sample, grpo)
    np.testing.assert_allclose(sample.sum(-1), 0.0, atol=5e-6)
    both = advantages()
    np.testing.assert_allclose(
        both, jnp.where(sample > 0, 0.375 * sample, sample), rtol=1e-6
    )


def test_group_sum_is_the_closed_form():
    sample, both = advantages(group_level=False), advantages(alpha=0.5)
    expected = -(1 - 0.375 / 0.5) * jnp.maximum(sample, 0).sum(-1)
    np.testing.assert_allclose(both.sum(-1), expected, rtol=5e-6, atol=5e-6)


def test_alpha_below_omega_leaves_positive_advantages_whole():
    np.testing.assert_allclose(
        advantages(alpha=0.3), advantages(group_level=False), rtol=1e-6
    )


def test_it_goes_on_any_base():
    centred = advantages("dr_grpo")
    np.testing.assert_allclose(
        advantages(base="dr_grpo", sample_level=False),
        jnp.where(centred > 0, 0.375 * centred, centred),
        rtol=1e-6,
    )
    method = methods.resolve("a_grae", base="dr_grpo")
    assert method.reduction is reductions.fixed_length
    assert method.name == "a_grae"


def test_what_it_promises():
    assert not methods.resolve("a_grae").zero_sum
    assert methods.resolve("a_grae", group_level=False).zero_sum


def test_bad_settings_are_refused():
    with pytest.raises(UserError, match="alpha = 0.0 must be above 0"):
        methods.resolve("a_grae", alpha=0.0)
    with pytest.raises(UserError, match="did you mean 'sqrt1mp'"):
        methods.resolve("a_grae", easy="sqrt1p")
    with pytest.raises(UserError, match="did you mean 'grpo'"):
        methods.resolve("a_grae", base="gpro")


# --- Theorem 1: dJ/dh_i = W_i - C pi_i, with C the sum of the group's advantages. ---


def logit_gradient(logits, actions, advantage, method=None):
    """d J / d logits of one-token completions, through `rlvr_loss` on-policy."""
    method = methods.resolve("grpo") if method is None else method
    actions = jnp.asarray(actions)
    shape = (1, len(actions), 1)

    def objective(h):
        logprob = jax.nn.log_softmax(h)[actions].reshape(shape)
        old = jax.lax.stop_gradient(logprob)
        ctx = token_context(logprob, old=old, weight=jnp.ones(shape))
        advantage_BGT = f32(advantage).reshape(shape)
        return -loss.rlvr_loss(ctx, advantage_BGT, jnp.ones(shape), (), method=method)[
            0
        ]

    return jax.grad(objective)(f32(logits))


FIVE = [1.0, 0.5, 0.0, -0.5, -1.0]


@pytest.mark.parametrize(
    "logits, actions, advantage, expected",
    [
        (FIVE, [0, 1], [1, -1], [1, -1, 0, 0, 0]),
        (FIVE, [0, 1], [0.1, -1], [0.48579, -0.766007, 0.141924, 0.086081, 0.052211]),
        (FIVE, [0, 1], [10, -1], [6.1421, -3.339934, -1.419242, -0.860814, -0.52211]),
        (
            [4.0, 0, 0, 0, 0],
            [1, 0, 0, 0],
            [0.173205, -0.57735, -0.57735, -0.57735],
            [-0.279614, 0.199807, 0.026602, 0.026602, 0.026602],
        ),
    ],
)
def test_logit_gradient_literals(logits, actions, advantage, expected):
    found = logit_gradient(logits, actions, advantage)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_unsampled_logits_stay_put_under_grpo_and_rise_under_a_grae():
    # Ten behaviours; the samples are seven different wrong ones and a right one.
    logits = f32([5.0] + [0.0] * 9)
    actions = [0, 1, 2, 3, 4, 5, 6, 8]
    inputs = reward_input([[0, 0, 0, 0, 0, 0, 0, 1]])
    pi = jax.nn.softmax(logits)
    np.testing.assert_allclose(pi[0], 0.942826, atol=1e-6)

    grpo = advantages("grpo", inputs, eps=0.0)[0]
    flat = logit_gradient(logits, actions, grpo)
    np.testing.assert_allclose(flat[jnp.array([7, 9])], 0.0, atol=1e-6)
    np.testing.assert_allclose(flat[0], -0.377964, atol=1e-6)

    ours = advantages("a_grae", inputs)[0]
    push = logit_gradient(logits, actions, ours)
    assert float(ours.sum()) < 0
    np.testing.assert_allclose(
        push[jnp.array([7, 9])], -ours.sum() * pi[jnp.array([7, 9])], rtol=1e-5
    )
    assert (push[jnp.array([7, 9])] > 0).all()


def test_a_frozen_logit_is_not_a_frozen_probability():
    grad = logit_gradient(FIVE, [0, 1], [1, -1])
    moved = jax.jvp(jax.nn.log_softmax, (f32(FIVE),), (grad,))[1]
    np.testing.assert_allclose(moved[2:], -0.168663, atol=1e-6)


def test_unsampled_logits_stay_put_only_if_rows_weigh_the_same():
    # Under 1 / length the weights A / length of a group need not sum to zero.
    method = methods.resolve("grpo")
    mask = f32([[[1, 1], [1, 0]]])
    token = np.array([[[0, 2], [1, 0]]])

    def gradient(reduction):
        def objective(h):
            logprob = jax.nn.log_softmax(h)[token]
            old = jax.lax.stop_gradient(logprob)
            ctx = token_context(logprob, old=old, mask=mask, weight=reduction(mask, 2))
            advantage = f32([[[1.0], [-1.0]]]) * mask * f32([1.0, 0.0])
            return loss.rlvr_loss(
                ctx, advantage, jnp.ones_like(mask), (), method=method
            )[0]

        return jax.grad(objective)(f32(FIVE))

    np.testing.assert_allclose(gradient(reductions.token_mean)[3:], 0.0, atol=1e-7)
    np.testing.assert_allclose(gradient(reductions.fixed_length)[3:], 0.0, atol=1e-7)
    assert (jnp.abs(gradient(reductions.sequence_mean)[3:]) > 0.01).all()


def test_shaped_rewards_leave_p_and_omega_to_correctness():
    shaped = dataclasses.replace(
        methods.resolve("a_grae"), reward=lambda inputs: 2 * inputs.correct_BG - 1
    )
    found = loss.advantages(INPUTS, method=shaped)[1]
    np.testing.assert_allclose(found, advantages(), rtol=5e-6, atol=5e-6)


def test_its_own_levels_are_not_applied_twice():
    with pytest.raises(UserError, match="twice"):
        methods.resolve("a_grae", base="a_grae")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
