"""W-REINFORCE: a weight on correct samples (methods.md 6)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of


def test_literal_group_sum():
    advantage = advantages_of("w_reinforce", [[1, 0, 0, 0]])
    np.testing.assert_allclose(advantage, [[0.1, -1, -1, -1]])
    np.testing.assert_allclose(advantage.sum() / 4, -0.725, rtol=1e-6)


def test_weight_one_is_asym_grpo_with_zero_exponents():
    correct = [[1, 0, 0], [1, 1, 1], [0, 0, 0]]
    np.testing.assert_array_equal(
        advantages_of("w_reinforce", correct, weight=1.0),
        advantages_of("asym_grpo", correct, beta_pos=0.0, beta_neg=0.0),
    )


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
