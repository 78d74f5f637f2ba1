"""GRPO-LEAD: length reward and difficulty weight (methods.md 8.2)."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import rewards
from tests.methods.running import advantages_of, group
from tests.rl.contexts import advantage_input, reward_input

LENGTH = [[100, 200, 300, 999]]


def test_length_reward():
    inputs = reward_input([[1, 1, 1, 0]], length=LENGTH)
    reward = rewards.short_among_correct(inputs, alpha=0.05, wrong=-1.0)
    np.testing.assert_allclose(reward[0], [1.051271, 1, 0.951229, -1], atol=1e-6)


def test_a_single_correct_sample_is_its_own_mean():
    inputs = reward_input([[1, 0, 0, 0]], length=LENGTH)
    reward = rewards.short_among_correct(inputs, alpha=0.05, wrong=0.0)
    np.testing.assert_allclose(reward[0], [1, 0, 0, 0])


def test_weight():
    shaper = methods.resolve("grpo_lead").shapers[0]
    inputs = advantage_input([group(k, 8) for k in (0, 2, 4, 6, 7, 8)])
    weight = shaper(jnp.ones((6, 8)), inputs)[:, 0]
    expected = [1.499392, 1.492638, 1.416556, 0.95, 0.644970, 0.483444]
    np.testing.assert_allclose(weight, expected, atol=1e-6)


def test_literal_advantages():
    found = advantages_of("grpo_lead", [[1, 1, 1, 0]], length=LENGTH)
    np.testing.assert_allclose(
        found[0], [0.522460, 0.473813, 0.427539, -2.237091], rtol=5e-6
    )


def test_all_correct_still_teaches_brevity_and_all_wrong_nothing():
    length = [[100, 200, 300, 400]] * 2
    found = advantages_of("grpo_lead", [[1] * 4, [0] * 4], length=length)
    assert (jnp.diff(found[0]) < 0).all()
    np.testing.assert_array_equal(found[1], 0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
