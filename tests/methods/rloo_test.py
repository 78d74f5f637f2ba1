"""RLOO: the mean of the others (methods.md 4)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import surrogates
from tests.methods.running import advantages_of


@pytest.mark.parametrize(
    "rewards, expected",
    [([1, 0, 0, 0], [1, -1 / 3, -1 / 3, -1 / 3]), ([1, 1, 0], [0.5, 0.5, -1])],
)
def test_literal(rewards, expected):
    np.testing.assert_allclose(advantages_of("rloo", [rewards])[0], expected, rtol=1e-6)


def test_both_losses():
    assert "low" in methods.resolve("rloo").surrogate.keywords
    assert methods.resolve("rloo", clip=False).surrogate is surrogates.reinforce


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
