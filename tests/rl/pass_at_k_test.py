"""Pass@k and majority@k against literal values (methods.md 14.1, 14.2)."""

import itertools

import numpy as np
import pytest

from agrae_jax.rl.pass_at_k import majority, majority_at_k, pass_at_k


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


def vote(votes):
    """What a vote among these samples is worth where 0 is the gold."""
    answers, counts = np.unique([v for v in votes if v >= 0], return_counts=True)
    winners = answers[counts == counts.max()] if len(counts) else []
    return 1 / len(winners) if 0 in winners else 0.0


def test_majority_is_the_mean_over_all_subsets():
    rng = np.random.default_rng(0)
    for _ in range(100):
        classes = rng.integers(-1, 4, rng.integers(1, 9))
        for k in range(1, len(classes) + 1):
            credits = [vote(s) for s in itertools.combinations(classes, k)]
            found = majority_at_k(classes, 0, k)
            np.testing.assert_allclose(found, np.mean(credits), atol=1e-13)


@pytest.mark.parametrize(
    "gold, rivals, n, k, value",
    [
        (2, [1, 1], 4, 3, 0.6666667),
        (3, [3, 3], 9, 9, 0.3333333),
        (128, [100, 20, 8], 256, 256, 1.0),
        (100, [100, 100, 100], 1024, 1, 100 / 1024),
        (1, [1] * 255, 256, 64, 1 / 256),  # 64 tie, and gold is among them one in 4
        (5000, [4999], 10000, 10000, 1.0),
    ],
)
def test_majority_of_counts(gold, rivals, n, k, value):
    np.testing.assert_allclose(majority(gold, rivals, n, k), value, atol=1e-6)


@pytest.mark.parametrize("gold, rivals, k", [(3, [2], 1), (1, [1], 5), (-1, [1], 1)])
def test_counts_that_do_not_fit_are_refused(gold, rivals, k):
    with pytest.raises(ValueError, match="majority@k needs"):
        majority(gold, rivals, 4, k)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
