"""A masked entry may hold anything and adds nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.rl import masked

X = jnp.asarray([[1.0, jnp.nan, 3.0], [jnp.inf, 5.0, 7.0]])
MASK = jnp.asarray([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


def test_sum_mean_and_count_skip_what_is_masked():
    assert masked.masked_sum(X, MASK) == 9.0
    np.testing.assert_array_equal(masked.masked_mean(X, MASK, -1), [2.0, 5.0])
    np.testing.assert_array_equal(masked.masked_count(MASK, -1), [2.0, 1.0])
    assert masked.masked_mean(X, MASK) == 3.0


def test_nothing_kept_gives_zero_not_nan():
    assert masked.masked_mean(X, jnp.zeros_like(X)) == 0.0


def test_gradient_at_masked_entries_is_zero():
    grad = jax.grad(lambda x: masked.masked_sum(x**2, MASK))(jnp.full((2, 3), 2.0))
    np.testing.assert_array_equal(grad, 4.0 * MASK)


def test_as_sum_counts_a_broadcast_mask_at_every_entry():
    total, count = masked.as_sum(jnp.ones((2, 3)), jnp.ones((2, 1)))
    assert (total, count) == (6.0, 6.0)
    total, count = masked.as_sum(jnp.asarray([True, True]), jnp.asarray([1, 0]))
    assert (total, count) == (1.0, 1.0) and total.dtype == jnp.float32


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
