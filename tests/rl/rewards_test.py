"""Rewards from what is known of a completion."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.rl import regularizers, rewards
from tests.rl.contexts import f32, reward_input


def test_correctness_is_one_or_zero():
    reward_BG = rewards.correctness(reward_input([[1, 0, 1]]))
    np.testing.assert_array_equal(reward_BG, [[1.0, 0.0, 1.0]])


def gap_input(gap):
    gap = f32(gap)
    inputs = reward_input(jnp.ones(gap.shape[:2]))
    return dataclasses.replace(inputs, ref_gap_BGT=gap)


@pytest.mark.parametrize(
    "estimator, kl",
    [
        (regularizers.k1, 0.5 - 0.2),
        (regularizers.k2, (0.25 + 0.04) / 2),
        # d = log pi_ref - log pi is -.5 and .2.
        (regularizers.k3, 0.1065307 + 0.0214028),
    ],
)
def test_a_kl_is_taken_from_the_reward(estimator, kl):
    reward_BG = rewards.less_kl(
        gap_input([[[0.5, -0.2, 0.0]]]),
        reward=rewards.correctness,
        coef=0.1,
        estimator=estimator,
    )
    np.testing.assert_allclose(reward_BG, [[1 - 0.1 * kl]], rtol=1e-6)


def test_in_the_reward_k1_has_the_gradient_of_the_kl_and_its_sign():
    """REINFORCE on -k1, over every action of a small policy, against the exact KL."""
    logits = f32([1.0, 0.5, 0.0, -0.5, -1.0])
    reference = jax.nn.log_softmax(f32([0.2, -0.4, 0.7, 0.1, -0.3]))

    def kl(h):
        log_pi = jax.nn.log_softmax(h)
        return jnp.sum(jnp.exp(log_pi) * (log_pi - reference))

    log_pi = jax.nn.log_softmax(logits)
    reward_BG = rewards.less_kl(
        gap_input((log_pi - reference)[None, :, None]),
        reward=lambda inputs: jnp.zeros(inputs.correct_BG.shape),
        coef=1.0,
        estimator=regularizers.k1,
    )

    def objective(h):  # what a policy gradient climbs: E[reward log pi]
        return jnp.sum(jnp.exp(log_pi) * reward_BG[0] * jax.nn.log_softmax(h))

    found = jax.grad(objective)(logits)
    np.testing.assert_allclose(found, -jax.grad(kl)(logits), atol=1e-6)
    assert kl(logits + 0.1 * found) < kl(logits)


def test_the_reference_is_asked_for():
    with pytest.raises(ValueError, match="ref_gap"):
        rewards.less_kl(
            reward_input([[1]]),
            reward=rewards.correctness,
            coef=0.1,
            estimator=regularizers.k1,
        )


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
