"""GPG: the batch's factor and the plain loss (methods.md 4)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of, loss_of


def test_literal():
    found = advantages_of("gpg", [[1, 0, 0, 0], [1, 1, 0, 0]])
    third = 1 / 3
    expected = [
        [2, -2 * third, -2 * third, -2 * third],
        [4 * third, 4 * third, -4 * third, -4 * third],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_no_reward_at_all_is_no_division_by_zero():
    np.testing.assert_array_equal(advantages_of("gpg", [[0, 0], [0, 0]]), 0.0)


def test_loss_has_no_ratio():
    value, _ = loss_of("gpg", [[[-2.0, -3.0]]], 1.0, arrays={"old": [[[-9.0, -9.0]]]})
    np.testing.assert_allclose(value, 2.5)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
