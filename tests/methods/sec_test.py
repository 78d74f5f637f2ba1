"""SEC: the bandit's numbers (methods.md 8.1)."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from agrae_jax.rl import curriculum
from tests.methods.running import advantages_of, group
from tests.rl.contexts import f32


def test_literal():
    value = curriculum.update_values(
        jnp.zeros(4), f32([0.2, 0.9, 0.4, 7]), f32([1, 8, 3, 0]), rate=0.5
    )
    np.testing.assert_allclose(value, [0.1, 0.45, 0.2, 0.0], atol=1e-6)
    present = jnp.array([1, 1, 1, 0])
    found = curriculum.arm_probabilities(value, present, temperature=1.0)
    np.testing.assert_allclose(found, [0.283749, 0.402659, 0.313591, 0.0], atol=1e-6)


def test_equal_values_are_drawn_alike():
    found = curriculum.arm_probabilities(jnp.zeros(4), jnp.ones(4), temperature=0.1)
    np.testing.assert_allclose(found, [0.25] * 4)


def test_an_arms_reward_is_the_mean_size_of_its_advantages():
    # p of .1, .25 and .5 give 2 sqrt(p (1 - p)) = .6, .866025, 1.
    correct = [group(2, 20), group(5, 20), group(10, 20), group(10, 20)]
    advantage = advantages_of("grpo", correct, eps=0.0)
    valid = np.ones((4, 20))
    valid[3, 10:] = 0.0  # the ten right ones of the last group are all that counts
    arm = jnp.array([0, 1, 2, 2])
    reward, count = curriculum.arm_rewards(advantage, f32(valid), arm, arms=4)
    np.testing.assert_allclose(reward, [0.6, 0.866025, 1.0, 0.0], atol=1e-6)
    np.testing.assert_array_equal(count, [20, 20, 30, 0])


def test_it_changes_no_advantage():
    np.testing.assert_array_equal(
        advantages_of("sec", [[1, 0, 0]]), advantages_of("grpo", [[1, 0, 0]])
    )
    assert methods.resolve("sec", arms=5).init_state()["curriculum"].shape == (5,)


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"rate": 0.0}, "rate = 0.0 must lie"),
        ({"temperature": 0.0}, "temperature = 0.0 must be above"),
        ({"arms": 1}, "arms = 1 must be at least 2"),
    ],
)
def test_bad_settings_are_refused(kwargs, message):
    with pytest.raises(UserError, match=message):
        methods.resolve("sec", **kwargs)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
