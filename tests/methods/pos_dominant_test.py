"""Positive-Dominant: beta times the positive advantages (methods.md 5.4, 5.11)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import advantages_of


def test_literal():
    found = advantages_of("pos_dominant", [[1, 0, 0, 0]])[0]
    np.testing.assert_allclose(found, [17.320508] + [-0.577350] * 3, rtol=5e-6)
    np.testing.assert_allclose(found.sum(), 15.588457, rtol=5e-6)


def test_it_goes_on_any_base():
    np.testing.assert_allclose(
        advantages_of("pos_dominant", [[1, 0, 0, 0]], base="dr_grpo", beta=2.0),
        [[1.5, -0.25, -0.25, -0.25]],
    )


def test_beta_is_positive():
    with pytest.raises(UserError, match="beta = 0.0 must be above 0"):
        methods.resolve("pos_dominant", beta=0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
