"""Intervals and tests over questions or runs, in numpy.

The unit of pairing is the caller's: per-question values give statements about
questions, per-run values about runs. Say which one beside every number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]

# Up to this many pairs every pattern of signs is enumerated.
FEW = 30  # questions below which a bootstrap over them says too much
MAX_EXACT = 20


class Interval(NamedTuple):
    """An estimate and the two ends of its interval."""

    mean: float
    low: float
    high: float


class TTest(NamedTuple):
    """A t statistic, its degrees of freedom and its two-sided p-value."""

    t: float
    df: int
    p: float


def bootstrap_mean(
    values_Q: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Returns the mean of `values_Q` and its percentile bootstrap interval.

    Questions are resampled, samples within a question are not: the interval speaks of
    other questions of the same kind. Raises ValueError for no values.
    """
    values = np.asarray(values_Q, dtype=np.float64)
    if not len(values):
        raise ValueError("a bootstrap needs at least one value")
    rng = np.random.default_rng(seed)
    means: list[Float] = []
    for rows in _chunks(resamples, len(values)):
        drawn = rng.integers(0, len(values), (rows, len(values)))
        means.append(values[drawn].mean(-1))
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(float(values.mean()), float(low), float(high))


def bootstrap_difference(
    a_Q: ArrayLike,
    b_Q: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Returns the mean of `a - b` and its interval; both share the drawn questions.

    Raises ValueError for lists of different length.
    """
    difference = _paired(a_Q, b_Q)
    return bootstrap_mean(difference, level=level, resamples=resamples, seed=seed)


def sign_flip(
    a_Q: ArrayLike, b_Q: ArrayLike, *, flips: int = 10_000, seed: int = 0
) -> float:
    """Returns the two-sided p-value of the mean of `a - b` under random signs.

    Exact up to 20 pairs, else `(1 + hits) / (1 + flips)` over random flips.
    """
    difference = _paired(a_Q, b_Q)
    count = len(difference)
    observed = abs(difference.sum()) * (1 - 1e-12)  # rounding must not lose a tie
    if count <= MAX_EXACT:
        sums: Float = np.zeros(1)
        for value in difference.tolist():
            sums = np.concatenate([sums + value, sums - value])
        return np.count_nonzero(np.abs(sums) >= observed) / len(sums)
    rng = np.random.default_rng(seed)
    hits = 0
    for rows in _chunks(flips, count):
        signs = rng.integers(0, 2, (rows, count)) * 2 - 1
        hits += int(np.sum(np.abs(signs @ difference) >= observed))
    return (1 + hits) / (1 + flips)


def paired_t(a_Q: ArrayLike, b_Q: ArrayLike) -> TTest:
    """Returns the paired t-test of `a - b`, two-sided, with n - 1 degrees of freedom.

    Equal differences in all pairs say nothing of their spread: t and p are not a
    number then, but p = 1 where all are 0. Raises ValueError for fewer than two pairs.
    """
    difference = _paired(a_Q, b_Q)
    count = len(difference)
    if count < 2:
        raise ValueError("a paired t-test needs at least two pairs")
    error = float(difference.std(ddof=1)) / math.sqrt(count)
    # A few units in the last place are rounding, not spread.
    if error <= 1e-12 * float(np.abs(difference).max()):
        same = bool(difference[0] == 0)
        nothing = float("nan")
        return TTest(0.0 if same else nothing, count - 1, 1.0 if same else nothing)
    t = float(difference.mean() / error)
    return TTest(t, count - 1, _t_tails(t, count - 1))


def holm(p_values: ArrayLike) -> Float:
    """Returns p-values adjusted for their number (Holm's step-down).

    Those that are not a number stay so and are not counted.
    """
    given = np.asarray(p_values, dtype=np.float64)
    known = ~np.isnan(given)
    p = given[known]
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.zeros(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    out = given.copy()
    out[known] = adjusted
    return out


def _paired(a_Q: ArrayLike, b_Q: ArrayLike) -> Float:
    a, b = np.asarray(a_Q, dtype=np.float64), np.asarray(b_Q, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"pairs need two equal lists, not {a.shape} and {b.shape}")
    return a - b


def _t_tails(t: float, df: int) -> float:
    """Returns P(|T| > |t|) for whole `df`, by its finite series in atan(t / sqrt(df)).

    The absolute error is about 1e-15, so a p-value below that reads 0.
    """
    angle = math.atan(abs(t) / math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2 == 1
    term, series = (cosine, 0.0) if odd else (1.0, 0.0)
    for i in range(1 if odd else 0, df - 1, 2):
        series += term
        term *= cosine**2 * (i + 1) / (i + 2)
    inside = (angle + sine * series) * 2 / math.pi if odd else sine * series
    return max(0.0, 1.0 - inside)


def _chunks(total: int, width: int) -> list[int]:
    """Splits `total` rows so that a block holds some 4 million numbers."""
    size = max(1, 4_000_000 // max(width, 1))
    return [min(size, total - start) for start in range(0, total, size)]
