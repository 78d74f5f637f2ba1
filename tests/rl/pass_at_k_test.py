"""Pass@k and majority@k against literal values (methods.md 14.1, 14.2)."""

import itertools

import numpy as np
import pytest

from agrae_jax.rl.pass_at_k import majority_at_k, pass_at_k


@pytest.mark.parametrize(
    "n, c, k, value",
    [
        (4, 1, 2, 0.5),
        (8, 2, 4, 0.785714),
        (256, 1, 128, 0.5),
        (256, 3, 64, 0.579782),
        (256, 255, 1, 0.996094),
        (256, 0, 256, 0.0),
        (16, 16, 8, 1.0),
        (10000, 5, 1000, 0.409576),
    ],
)
def test_literals(n, c, k, value):
    np.testing.assert_allclose(pass_at_k(n, c, k), value, atol=1e-6)


def test_it_is_not_the_biased_formula():
    assert abs(pass_at_k(8, 2, 4) - (1 - (1 - 2 / 8) ** 4)) > 0.1


def test_it_is_the_share_of_subsets_with_a_success():
    n = 7
    for c, k in itertools.product(range(n + 1), range(1, n + 1)):
        samples = [1] * c + [0] * (n - c)
        hits = [max(s) for s in itertools.combinations(samples, k)]
        np.testing.assert_allclose(pass_at_k(n, c, k), np.mean(hits), atol=1e-13)


def test_it_is_vectorised_over_questions():
    values = pass_at_k(8, [0, 2, 8], 4)
    np.testing.assert_allclose(values, [0.0, 0.7857142857, 1.0], atol=1e-9)
    table = pass_at_k(8, np.array([[0], [2]]), [1, 8])
    np.testing.assert_allclose(table, [[0.0, 0.0], [0.25, 1.0]])
    assert values[0] == 0.0 and not np.signbit(values[0])


@pytest.mark.parametrize("n, c, k", [(4, 5, 1), (4, -1, 1), (4, 1, 5), (4, 1, 0)])
def test_impossible_counts_are_refused(n, c, k):
    with pytest.raises(ValueError, match="pass@k needs"):
        pass_at_k(n, c, k)


@pytest.mark.parametrize(
    "classes, k, value",
    [
        ([5, 5, 7, 9], 1, 0.5),
        ([5, 5, 7, 9], 2, 0.5),
        ([5, 5, 7, 9], 3, 0.6666667),
        ([5, 5, 7, 9], 4, 1.0),
        ([5, 7, 7, 5], 4, 0.5),
        ([5, -1, -1, -1], 4, 1.0),
        ([-1, -1], 2, 0.0),
    ],
)
def test_majority(classes, k, value):
    np.testing.assert_allclose(majority_at_k(classes, 5, k), value, atol=1e-6)


def test_majority_by_sampling_is_near_the_exact_value():
    classes = [5] * 12 + [7] * 9 + [9] * 9
    sampled = majority_at_k(classes, 5, 1, subsets=4000)  # exact: few subsets
    assert sampled == 12 / 30
    sampled = majority_at_k(classes, 5, 29, subsets=400)
    assert sampled == 1.0
    estimate = majority_at_k(classes * 2, 5, 7, subsets=4000)
    assert estimate == majority_at_k(classes * 2, 5, 7, subsets=4000)
    assert 0.40 < estimate < 0.60


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
