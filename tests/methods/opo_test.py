"""OPO: a baseline weighted by length (methods.md 4)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of


def test_literal():
    np.testing.assert_allclose(
        advantages_of("opo", [[1, 0]], length=[[1, 3]]), [[0.75, -0.25]]
    )


def test_equal_lengths_give_the_group_mean():
    np.testing.assert_allclose(
        advantages_of("opo", [[1, 0, 0, 0]]), [[0.75, -0.25, -0.25, -0.25]]
    )


def test_an_ungradable_completion_weighs_nothing():
    found = advantages_of("opo", [[1, 0, 0]], length=[[1, 3, 50]], valid=[[1, 1, 0]])
    np.testing.assert_allclose(found, [[0.75, -0.25, 0]])


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
