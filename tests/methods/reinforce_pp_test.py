"""REINFORCE++: whitening over the tokens of the batch (methods.md 4)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of


def test_literal():
    found = advantages_of("reinforce_pp", [[1, 0]], length=[[2, 3]])
    np.testing.assert_allclose(found, [[1.095445, -0.730297]], atol=1e-6)


def test_literal_with_a_group_baseline():
    found = advantages_of(
        "reinforce_pp",
        [[1, 0, 0], [1, 1, 0]],
        length=[[1, 1, 1], [1, 1, 1]],
        group_baseline=True,
    )
    expected = [[1.290994, -0.645497, -0.645497], [0.645497, 0.645497, -1.290994]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_tokens_have_mean_zero_and_variance_one():
    length = np.array([[2, 7, 4], [5, 1, 3]])
    found = advantages_of("reinforce_pp", [[1, 0, 1], [0, 0, 1]], length=length)
    tokens = np.repeat(np.asarray(found).ravel(), length.ravel())
    np.testing.assert_allclose(tokens.mean(), 0.0, atol=1e-6)
    np.testing.assert_allclose(tokens.var(ddof=1), 1.0, rtol=5e-6)


def test_equal_rewards_everywhere_are_finite():
    np.testing.assert_allclose(advantages_of("reinforce_pp", [[1, 1], [1, 1]]), 0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
