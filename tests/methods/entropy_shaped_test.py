"""Entropy-shaped advantages (methods.md 9.2)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.rl.contexts import f32, token_context


def test_literal():
    method = methods.resolve("entropy_shaped")
    entropy = [[[2.0, 0.5, 9.0], [2.0, 0.5, 9.0]]]
    mask = [[[1, 1, 0], [1, 1, 0]]]
    ctx = token_context(np.zeros((1, 2, 3)), old_entropy=entropy, mask=mask)
    found = method.credit(f32([[1.0, -1.0]]), ctx)
    np.testing.assert_allclose(
        found, [[[1.5, 1.2, 0], [-0.5, -0.8, 0]]], rtol=1e-6, atol=1e-6
    )
    assert method.needs == {"old_entropy"}


def test_missing_entropy_is_named():
    method = methods.resolve("entropy_shaped")
    with pytest.raises(ValueError, match="old_entropy"):
        method.credit(f32([[1.0]]), token_context([[[0.0]]]))


def test_kappa_is_above_one():
    with pytest.raises(UserError, match="kappa = 1.0 must be above 1"):
        methods.resolve("entropy_shaped", kappa=1.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
