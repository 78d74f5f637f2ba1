"""PSR: one verdict trains, and only it is counted (methods.md 6)."""

import numpy as np
import pytest

from agrae_jax import methods
from tests.methods.running import advantages_of
from tests.rl.contexts import reward_input

CORRECT, VALID = [[1, 0, 0], [1, 1, 1]], [[1, 1, 0], [1, 1, 1]]


def test_advantages():
    found = advantages_of("psr", CORRECT, valid=VALID)
    np.testing.assert_array_equal(found, [[1, 0, 0], [1, 1, 1]])


def test_only_its_samples_enter_the_denominator():
    method = methods.resolve("psr")
    train_BG = method.select((), reward_input(CORRECT, valid=VALID))
    np.testing.assert_array_equal(train_BG, [[1, 0, 0], [1, 1, 1]])
    weight = method.reduction(train_BG[..., None] * np.ones((2, 3, 2)), 2)
    np.testing.assert_allclose(weight.sum(), 1.0, rtol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
