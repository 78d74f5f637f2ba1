"""Reductions as weights against literal vectors (methods.md 1)."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.rl.reductions import REDUCTIONS

LOSS = jnp.asarray([[[4.0, 0, 0], [1.0, 2.0, 3.0]]])
MASK = jnp.asarray([[[1.0, 0, 0], [1.0, 1.0, 1.0]]])
EMPTY = jnp.zeros((1, 1, 3))

EXPECTED = {
    "token_mean": 2.5,
    "sequence_mean": 3.0,
    "sequence_sum": 5.0,
    "fixed_length": 1.6666667,
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_literal(name):
    weight = REDUCTIONS[name](MASK, 3)
    np.testing.assert_allclose(jnp.sum(weight * LOSS), EXPECTED[name], rtol=1e-6)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_empty_row_changes_nothing(name):
    mask = jnp.concatenate([MASK, EMPTY], 1)
    loss = jnp.concatenate([LOSS, EMPTY + 9.0], 1)
    weight = REDUCTIONS[name](mask, 3)
    np.testing.assert_allclose(jnp.sum(weight * loss), EXPECTED[name], rtol=1e-6)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_wider_padding_changes_nothing(name):
    wide = [(0, 0), (0, 0), (0, 4)]
    weight = REDUCTIONS[name](jnp.pad(MASK, wide), 3)
    np.testing.assert_allclose(
        jnp.sum(weight * jnp.pad(LOSS, wide)), EXPECTED[name], rtol=1e-6
    )


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_nothing_to_learn_from_gives_zero_weights(name):
    np.testing.assert_array_equal(REDUCTIONS[name](EMPTY, 3), 0.0)


def test_fixed_length_divides_by_the_budget_not_by_the_width():
    weight = REDUCTIONS["fixed_length"](MASK, 30)
    np.testing.assert_allclose(jnp.sum(weight * LOSS), 0.16666667, rtol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
