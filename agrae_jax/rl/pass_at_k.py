"""Pass@k and majority@k from n samples per question, in numpy float64."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]

# More k-subsets than this are sampled, not enumerated.
MAX_SUBSETS = 20_000


def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Float:
    """Returns the unbiased `1 - C(n - c, k) / C(n, k)` (2107.03374), elementwise.

    `n` samples of which `c` are correct; 1 where fewer than `k` are wrong. Raises
    ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    n, c, k = (np.asarray(x, dtype=np.int64) for x in (n, c, k))
    if np.any((c < 0) | (c > n) | (k < 1) | (k > n)):
        raise ValueError("pass@k needs 0 <= c <= n and 1 <= k <= n")
    log_factorial = np.cumsum(np.log(np.maximum(np.arange(np.max(n) + 1), 1)))
    certain = n - c < k
    wrong = np.where(certain, n, n - c)  # any count that has a factorial
    # Paired so that c = 0 gives exactly 0.
    log_miss = (log_factorial[wrong] - log_factorial[n]) + (
        log_factorial[n - k] - log_factorial[wrong - k]
    )
    return np.where(certain, 1.0, 0.0 - np.expm1(log_miss))


def majority_at_k(
    classes: ArrayLike, gold: int, k: int, *, subsets: int = 1000, seed: int = 0
) -> float:
    """Returns the chance that a vote among `k` of the n samples elects `gold`.

    `classes` holds the answer class of each sample, equal where a grader calls two
    answers equal; a negative class is no answer and never wins. A tie shares the
    credit. All k-subsets are counted where there are few, else `subsets` random ones.
    """
    votes = np.asarray(classes, dtype=np.int64)
    if math.comb(len(votes), k) <= MAX_SUBSETS:
        drawn = itertools.combinations(range(len(votes)), k)
        credits = [_credit(votes[list(rows)], gold) for rows in drawn]
    else:
        rng = np.random.default_rng(seed)
        credits = [
            _credit(rng.choice(votes, k, replace=False), gold) for _ in range(subsets)
        ]
    return float(np.mean(credits))


def _credit(votes: NDArray[np.int64], gold: int) -> float:
    """Returns 1 over the number of tied winners if `gold` is one of them, else 0."""
    answers, counts = np.unique(votes[votes >= 0], return_counts=True)
    winners = answers[counts == counts.max()] if len(counts) else answers
    return 1.0 / len(winners) if gold in winners else 0.0
