"""Group statistics: literal numbers, ungradable samples, the zero-variance guard."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.rl.stats import group_stats


def stats(reward, correct=None, valid=None, ddof=0):
    reward = jnp.asarray(reward, jnp.float32)
    correct = reward if correct is None else jnp.asarray(correct, jnp.float32)
    valid = jnp.ones_like(reward) if valid is None else jnp.asarray(valid, jnp.float32)
    return group_stats(reward, correct, valid, ddof=ddof)


def test_mean_and_both_deviations():
    population = stats([[1, 0, 0, 0], [1, 1, 0, 0]])
    np.testing.assert_allclose(population.mean_B, [0.25, 0.5], rtol=1e-6)
    np.testing.assert_allclose(population.std_B, [0.4330127, 0.5], rtol=1e-6)
    sample = stats([[1, 0, 0, 0], [1, 1, 0, 0]], ddof=1)
    np.testing.assert_allclose(sample.std_B, [0.5, 0.57735027], rtol=1e-6)


def test_omega_is_over_all_valid_samples_not_a_mean_of_groups():
    s = stats([[1, 1, 0, 0], [1, 9, 9, 9]], valid=[[1, 1, 1, 1], [1, 0, 0, 0]])
    np.testing.assert_allclose(s.p_B, [0.5, 1.0])
    np.testing.assert_allclose(s.omega, 3 / 5, rtol=1e-6)
    np.testing.assert_allclose(s.count_B, [2, 1])
    np.testing.assert_allclose(s.valid_B, [4, 1])


def test_shaped_rewards_do_not_change_p_and_omega():
    s = stats([[1.0, -1.0], [-0.5, -1.0]], correct=[[1, 0], [1, 0]])
    np.testing.assert_allclose(s.mean_B, [0.0, -0.75])
    np.testing.assert_allclose(s.p_B, [0.5, 0.5])
    assert s.omega == 0.5


def test_an_ungradable_sample_is_as_if_it_were_not_there():
    nan = float("nan")
    s = stats([[1, nan, 0, 0]], correct=[[1, nan, 0, 0]], valid=[[1, 0, 1, 1]], ddof=1)
    t = stats([[1, 0, 0]], ddof=1)
    for name in ("mean_B", "std_B", "p_B", "count_B", "valid_B", "omega"):
        np.testing.assert_array_equal(getattr(s, name), getattr(t, name), name)


def test_equal_rewards_are_degenerate_though_float32_spreads_them():
    seven = stats([[0.9] * 7, [0.9] * 6 + [0.8]])
    assert float(seven.std_B[0]) < 1e-6
    np.testing.assert_array_equal(seven.degenerate_B, [True, False])


def test_less_than_two_valid_samples_are_degenerate_and_finite():
    s = stats([[1, 0], [1, 0]], valid=[[1, 0], [0, 0]], ddof=1)
    np.testing.assert_array_equal(s.degenerate_B, [True, True])
    np.testing.assert_array_equal(s.p_B, [1.0, 0.0])
    np.testing.assert_array_equal(s.std_B, [0.0, 0.0])


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
