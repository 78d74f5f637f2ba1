"""Intervals and paired tests against literal values (methods.md 14.3, 14.4)."""

import numpy as np
import pytest
from scipy import stats

from agrae_jax.rl import intervals

A = [1, 0.5, 0, 1, 0.25, 0]
B = [0.75, 0.5, 0, 1, 0, 0]
DIFFERENCES = [1.9, 1.6, 2.1, 1.6]
ZEROS = [0.0] * 4


def test_paired_bootstrap():
    found = intervals.bootstrap_difference(A, B)
    np.testing.assert_allclose(found, [0.083333, 0.0, 0.166667], atol=1e-6)


def test_bootstrap_of_a_mean_covers_it_and_widens_with_the_level():
    narrow = intervals.bootstrap_mean(A, level=0.5)
    wide = intervals.bootstrap_mean(A, level=0.99)
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high
    assert narrow.mean == pytest.approx(2.75 / 6)


def test_bootstrap_draws_the_same_for_the_same_seed():
    assert intervals.bootstrap_mean(A) == intervals.bootstrap_mean(A)


def test_bootstrap_width_is_that_of_the_normal_limit():
    values = np.random.default_rng(1).normal(0, 1, 400)
    found = intervals.bootstrap_mean(values, resamples=4000)
    expected = 2 * 1.96 * values.std() / np.sqrt(400)
    assert (found.high - found.low) == pytest.approx(expected, rel=0.06)


def test_exact_sign_flip():
    assert intervals.sign_flip(DIFFERENCES, ZEROS) == 0.125
    assert intervals.sign_flip(ZEROS, ZEROS) == 1.0


def test_random_sign_flip_is_near_the_exact_one():
    rng = np.random.default_rng(3)
    difference = rng.normal(0.3, 1, 20)
    zeros = np.zeros(20)
    exact = intervals.sign_flip(difference, zeros)
    padded = np.append(difference, 0.0)  # 21 pairs, and the same p-value
    random = intervals.sign_flip(padded, np.zeros(21))
    assert 0.02 < exact < 0.9
    assert random == pytest.approx(exact, abs=0.02)
    assert random != exact


def test_paired_t_literal():
    t, df, p = intervals.paired_t(DIFFERENCES, ZEROS)
    assert t == pytest.approx(14.696938, rel=1e-6)
    assert df == 3
    assert p == pytest.approx(6.833e-4, rel=1e-4)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 17, 40])
def test_paired_t_is_scipys(count):
    rng = np.random.default_rng(count)
    a, b = rng.normal(0.4, 1, count), rng.normal(0, 1, count)
    want = stats.ttest_rel(a, b)
    found = intervals.paired_t(a, b)
    assert found.t == pytest.approx(float(want.statistic), rel=1e-12)
    assert found.p == pytest.approx(float(want.pvalue), abs=1e-13)


def test_paired_t_without_spread():
    assert intervals.paired_t([1, 1], [1, 1]) == (0.0, 1, 1.0)
    t, _, p = intervals.paired_t([2, 2], [1, 1])  # scipy says inf and 0
    assert np.isnan(t) and np.isnan(p)
    found = intervals.paired_t(
        [0.1 + 0.2, 0.3, 0.3], [0, 0, 0]
    )  # equal but for rounding
    assert np.isnan(found.p)


def test_holm():
    np.testing.assert_allclose(intervals.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(intervals.holm([0.9, 0.8]), [1.0, 1.0])
    nan = float("nan")
    np.testing.assert_array_equal(intervals.holm([nan, 0.02, nan]), [nan, 0.02, nan])


def test_what_cannot_be_paired_is_refused():
    with pytest.raises(ValueError, match="equal lists"):
        intervals.bootstrap_difference([1, 2], [1])
    with pytest.raises(ValueError, match="two pairs"):
        intervals.paired_t([1], [0])
    with pytest.raises(ValueError, match="at least one"):
        intervals.bootstrap_mean([])


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
