"""Pass@k training: literal vectors and the mean over all sets (methods.md 8.3)."""

import itertools

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import advantages_of, group


@pytest.mark.parametrize(
    "n, c, k, right, wrong",
    [
        (8, 1, 4, 0.999998, -0.142857),
        (8, 2, 4, 0.522232, -0.174077),
        (8, 4, 4, 0.120385, -0.120385),
        (8, 5, 4, 0.0, 0.0),
        (8, 8, 4, 0.0, 0.0),
        (8, 0, 4, 0.0, 0.0),
        (4, 1, 2, 0.999998, -0.333333),
        (8, 2, 1, 1.732047, -0.577349),
    ],
)
def test_literal(n, c, k, right, wrong):
    found = advantages_of("pass_at_k_training", [group(c, n)], k=k)[0]
    np.testing.assert_allclose(found[:c], right, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[c:], wrong, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n, c, k", [(6, 2, 3), (7, 3, 4), (5, 1, 2), (5, 2, 5)])
def test_it_is_the_mean_over_all_sets_with_the_sample(n, c, k):
    reward = np.array(group(c, n))
    sets = [list(s) for s in itertools.combinations(range(n), k)]
    best = np.array([reward[s].max() for s in sets])
    rho, sigma = best.mean(), best.std()
    expected = [
        np.mean([b - rho for b, s in zip(best, sets, strict=True) if i in s])
        / (sigma + 1e-6)
        for i in range(n)
    ]
    found = advantages_of("pass_at_k_training", [reward], k=k)[0]
    np.testing.assert_allclose(found, expected, rtol=5e-6, atol=5e-6)


def test_k_one_is_grpo():
    correct = [group(c, 8) for c in range(9)]
    np.testing.assert_allclose(
        advantages_of("pass_at_k_training", correct, k=1),
        advantages_of("grpo", correct),
        rtol=5e-6,
        atol=5e-6,
    )


def test_a_group_smaller_than_k_is_one_set():
    found = advantages_of("pass_at_k_training", [[1, 0, 0]], k=4)
    np.testing.assert_array_equal(found, 0.0)  # the one set is always solved


def test_k_is_at_least_one():
    with pytest.raises(UserError, match="k = 0 must be at least 1"):
        methods.resolve("pass_at_k_training", k=0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
