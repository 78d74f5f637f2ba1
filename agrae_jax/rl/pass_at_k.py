"""Pass@k and majority@k from n samples per question, in numpy float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]

_NOTHING = 1e-18  # a share of the whole that float64 cannot see
_SHORT = 8  # factors up to this long are multiplied term by term, for speed


def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Float:
    """Returns the unbiased `1 - C(n - c, k) / C(n, k)` (2107.03374), elementwise.

    `n` samples of which `c` are correct; 1 where fewer than `k` are wrong. Raises
    ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    n, c, k = (np.asarray(x, dtype=np.int64) for x in (n, c, k))
    if np.any((c < 0) | (c > n) | (k < 1) | (k > n)):
        raise ValueError("pass@k needs 0 <= c <= n and 1 <= k <= n")
    log_factorial = _log_factorial(int(np.max(n)))
    certain = n - c < k
    wrong = np.where(certain, n, n - c)  # any count that has a factorial
    # Paired so that c = 0 gives exactly 0.
    log_miss = (log_factorial[wrong] - log_factorial[n]) + (
        log_factorial[n - k] - log_factorial[wrong - k]
    )
    return np.where(certain, 1.0, 0.0 - np.expm1(log_miss))


def majority_at_k(classes: ArrayLike, gold: int, k: int) -> float:
    """Returns the chance that a vote among `k` of the n samples elects `gold`.

    `classes` holds the answer class of each sample, equal where a grader calls two
    answers equal; a negative class is no answer and never wins. See `majority`.
    """
    votes = np.asarray(classes, dtype=np.int64)
    rivals = np.unique(votes[(votes >= 0) & (votes != gold)], return_counts=True)[1]
    return majority(int(np.sum(votes == gold)), rivals, len(votes), k)


def majority(gold: int, rivals: ArrayLike, n: int, k: int) -> float:
    """Returns the same from counts: `gold` votes, those of each rival class, n in all.

    It is the mean over all k-subsets of the samples; a tie shares the credit. Exact,
    with no subset drawn: sum over m of P(gold has m votes, no rival more) / (1 + rivals
    with m as well). A class has a binomial number of votes, and all of them together
    are given to be k. Raises ValueError unless 1 <= k <= n and the counts fit n.
    """
    counts = np.asarray(rivals, dtype=np.int64)
    silent = n - gold - int(counts.sum())
    if not 1 <= k <= n or silent < 0 or gold < 0 or np.any(counts < 0):
        raise ValueError("majority@k needs 1 <= k <= n and counts that fit n")
    chance = {c: _binomial(c, k / n) for c in {gold, n, *counts.tolist()}}
    total, given = 0.0, float(chance[n][k])
    for m in range(1, min(gold, k) + 1):
        if chance[gold][m] < _NOTHING * given:
            continue
        strong = counts[counts >= m]
        weak = silent + int(counts[counts < m].sum())  # cannot reach m
        # 1 / (1 + ties) is the integral of u^ties over [0, 1]: a polynomial in u.
        nodes, weights = np.polynomial.legendre.leggauss(len(strong) // 2 + 1)
        u, weights = (nodes + 1) / 2, weights / 2
        # votes[i, v]: chance of v votes for all but gold, no rival over m, at u[i]
        votes = np.tile(_padded(_binomial(weak, k / n), k - m + 1), (len(u), 1))
        for count in strong.tolist():
            votes = _add_rival(votes, chance[count][: m + 1], u)
        total += chance[gold][m] * float(weights @ votes[:, k - m])
    return total / given


def _add_rival(votes: Float, chance: Float, u: Float) -> Float:
    """Returns the sums' chances with one more rival; its last count ties, hence `u`."""
    size, m = votes.shape[1], len(chance) - 1
    if m > _SHORT:
        factors = np.tile(chance, (len(u), 1))
        factors[:, m] *= u
        rows = zip(votes, factors, strict=True)
        return np.stack([np.convolve(row, factor)[:size] for row, factor in rows])
    out = votes * chance[0]
    for i in range(1, min(m, size - 1) + 1):
        factor = chance[i] * (u[:, None] if i == m else 1.0)
        out[:, i:] += factor * votes[:, : size - i]
    return out


def _binomial(n: int, p: float) -> Float:
    """Returns the chances of 0 to n successes in n trials."""
    if p == 1.0:
        return np.eye(n + 1)[n]
    log_factorial = _log_factorial(n)
    i = np.arange(n + 1)
    ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    return np.exp(ways + i * np.log(p) + (n - i) * np.log1p(-p))


def _log_factorial(n: int) -> Float:
    """Returns log 0! to log n!."""
    return np.cumsum(np.log(np.maximum(np.arange(n + 1), 1)))


def _padded(values: Float, size: int) -> Float:
    """Returns the first `size` values, with zeros where there are fewer."""
    out = np.zeros(size)
    out[: len(values)] = values[:size]
    return out
