"""Rewards from what is known of a completion."""

import numpy as np
import pytest

from agrae_jax.rl import rewards
from tests.rl.contexts import reward_input


def test_correctness_is_one_or_zero():
    reward_BG = rewards.correctness(reward_input([[1, 0, 1]]))
    np.testing.assert_array_equal(reward_BG, [[1.0, 0.0, 1.0]])


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
