"""The flip of one of AsymGRPO's curves, as we read it (methods.md 7.5, 7.8)."""

import numpy as np
import pytest

from agrae_jax import methods
from tests.methods.running import advantages_of, group


def test_positive_flip():
    found = advantages_of("asym_flip_like", [group(7, 8)])[0]
    np.testing.assert_allclose(found[:7], 2.645751, atol=1e-6)
    np.testing.assert_allclose(found[7], -2.645751, atol=1e-6)  # GRPO's


def test_negative_flip():
    found = advantages_of("asym_flip_like", [group(1, 8)], flip="negative")[0]
    np.testing.assert_allclose(found[0], 2.645751, atol=1e-6)  # GRPO's
    np.testing.assert_allclose(found[1:], -2.645751, atol=1e-6)


def test_the_ends_are_finite():
    found = advantages_of("asym_flip_like", [group(4, 4), group(0, 4)])
    np.testing.assert_allclose(found[0], np.sqrt(7), rtol=1e-6)  # p = 1 - 1 / 8
    np.testing.assert_array_equal(found[1], 0.0)


def test_it_says_that_it_is_an_experiment():
    assert methods.resolve("asym_flip_like").status == "experimental"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
