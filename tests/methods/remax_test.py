"""ReMax: the greedy completion is the baseline (methods.md 4)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import advantages, loss
from agrae_jax.types import Beside
from tests.rl.contexts import advantage_input, reward_input


def test_literal():
    correct = [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    greedy = reward_input([[1], [0], [1]], valid=[[1], [1], [0]])
    method = methods.resolve("remax")
    inputs, found = loss.advantages(
        reward_input(correct), method=method, beside=Beside(greedy=greedy)
    )
    # An ungradable greedy completion has reward 0.
    np.testing.assert_array_equal(found, [[0, -1, -1], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(inputs.greedy_reward_B, [1, 0, 0])


def test_a_greedy_rollout_is_asked_for():
    assert methods.resolve("remax").needs == {"greedy_rollout"}
    with pytest.raises(ValueError, match="greedy_rollout"):
        advantages.greedy_baseline(advantage_input([[1, 0]]))


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
