"""Adaptive entropy: when the bonus is on, and how it moves (methods.md 9.1)."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import regularizers
from tests.rl.contexts import one_row


def used(entropies, **kwargs):
    """(coefficient in use, coefficient kept) after each step of a mean entropy."""
    method = methods.resolve("adaptive_entropy", **kwargs)
    state, seen = method.init_state(), []
    for entropy in entropies:
        metrics = {"entropy": (jnp.float32(entropy * 5), jnp.float32(5))}
        state = method.update_state(state, None, None, metrics)
        seen.append([float(x) for x in state["adaptive_entropy"]])
    return seen


def test_literal():
    found = used([0.1, 0.2, 0.3, 0.1])
    # c: .01, .015, .02, .015; in use only at or below .2.
    expected = [[0.01, 0.015], [0.015, 0.02], [0.0, 0.015], [0.015, 0.02]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_it_stays_between_0_and_1():
    high = used([9.0] * 3, start=0.0075)
    np.testing.assert_allclose(high[-1], [0.0, 0.0], atol=1e-7)
    low = used([0.0] * 3, start=0.5, delta=0.4)
    np.testing.assert_allclose(low, [[0.5, 0.9], [0.9, 1.0], [1.0, 1.0]], atol=1e-6)


def test_the_loss_takes_the_coefficient_in_use():
    ctx = one_row([-1.0, -1.0], entropy=[2.0, 3.0])
    state = {"adaptive_entropy": jnp.array([0.1, 0.9])}
    term, _ = regularizers.adaptive_entropy_bonus(ctx, state)
    np.testing.assert_allclose(term[0, 0], [-0.2, -0.3], rtol=1e-6)


def test_it_goes_on_a_base_that_keeps_a_state_of_its_own():
    method = methods.resolve("adaptive_entropy", base="sec")
    state = method.init_state()
    assert set(state) == {"adaptive_entropy", "curriculum"}
    moved = method.update_state(state, None, None, {"entropy": (0.0, 1.0)})
    assert set(moved) == set(state)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
