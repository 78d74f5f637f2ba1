"""Diagnostics as (total, count), on a batch small enough to count by hand."""

import numpy as np
import pytest

from agrae_jax.rl import advantages
from agrae_jax.rl.diagnostics import (
    by_success_rate,
    diagnostics,
    logprob_gain,
    rollout_diagnostics,
)
from agrae_jax.types import STOP_EOS, STOP_LENGTH, STOP_NONE
from tests.rl.contexts import advantage_input, f32

EXPECTED = {
    "reward": (4, 8),
    "correct": (4, 8),
    "omega": (0.5, 1),
    "all_solved": (1, 3),
    "none_solved": (1, 3),
    "dead_groups": (2, 3),
    "advantage_positive": (3, 8),
    "advantage_negative": (1.5, 8),
    "advantage_group_sum": (1.5, 3),
    "length": (29, 10),
    "truncated": (2, 10),
    "ungradable": (2, 10),
    # Correct of 3: 1, 3, 0 and a group with nothing valid.
    "correct_count/0": (1, 3),
    "correct_count/1": (1, 3),
    "correct_count/2": (0, 3),
    "correct_count/3": (1, 3),
    # One of two valid samples is right, so p = 1/2.
    "advantage_positive/none": (0, 8),
    "advantage_positive/to_25": (0, 8),
    "advantage_positive/25_to_50": (0, 8),
    "advantage_positive/50_to_75": (3, 8),
    "advantage_positive/75_to_100": (0, 8),
    "advantage_positive/all": (0, 8),
    "advantage_negative/none": (0, 8),
    "advantage_negative/to_25": (0, 8),
    "advantage_negative/25_to_50": (0, 8),
    "advantage_negative/50_to_75": (1.5, 8),
    "advantage_negative/75_to_100": (0, 8),
    "advantage_negative/all": (0, 8),
    "update_magnitude/none": (0, 1),
    "update_magnitude/to_25": (0, 0),
    "update_magnitude/25_to_50": (0, 0),
    "update_magnitude/50_to_75": (4.5, 1),
    "update_magnitude/75_to_100": (0, 0),
    "update_magnitude/all": (0, 1),
}


def test_counts_by_hand():
    # Groups: mixed with one ungradable; all solved; none solved; one ungradable row
    # and two empty ones. 8 valid samples, 10 rows with tokens.
    inputs = advantage_input(
        [[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]],
        valid=[[1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]],
        length=[[2, 3, 4], [2, 3, 2], [4, 4, 2], [3, 0, 0]],
    )
    advantage_BG = f32([[3.0, -1.5, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    stop_BG = np.full((4, 3), STOP_EOS)
    stop_BG[2, :2] = STOP_LENGTH
    stop_BG[3, 1:] = STOP_NONE
    found = diagnostics(inputs, advantage_BG, stop_BG)
    assert set(found) == set(EXPECTED)
    for name, pair in EXPECTED.items():
        np.testing.assert_allclose(found[name], pair, rtol=1e-6, err_msg=name)


def test_update_magnitude_of_grpo_is_theorem_2():
    # 2 G sqrt(p (1 - p)) at p = 1/8, 4/8 and 7/8.
    correct = [[1.0] * c + [0.0] * (8 - c) for c in (1, 4, 7)]
    inputs = advantage_input(correct)
    found = by_success_rate(inputs, advantages.group_normalize(inputs, eps=0.0))
    for name, size in (("to_25", 5.291503), ("50_to_75", 8.0), ("75_to_100", 5.291503)):
        total, count = found[f"update_magnitude/{name}"]
        np.testing.assert_allclose(total, size, rtol=1e-6)
        assert count == 1


def test_coupling_of_success_and_log_probs_by_hand():
    # Length means -1, -2 | -1, -3. Group 1: one right, the likely one: covariance of
    # (.5, -.5) with (1, -1) is .5. Group 2: both wrong, 0. p is .5 and 0.
    inputs = advantage_input([[1, 0], [0, 0]], length=[[2, 1], [1, 2]])
    logprob = f32([[[-0.5, -1.5], [-2.0, 9]], [[-1, 9], [-3, -3]]])
    mask = f32([[[1, 1], [1, 0]], [[1, 0], [1, 1]]])
    found = rollout_diagnostics(inputs, mask, logprob, -logprob, 2 * mask)
    np.testing.assert_allclose(found["logprob_cov"], (0.5, 2), rtol=1e-6)
    # Covariance over groups of (.5, 0) and (.5, 0) is .25 * .25.
    np.testing.assert_allclose(found["acc_logprob_cov"], (0.0625, 1), rtol=1e-6)
    np.testing.assert_allclose(found["entropy"], (11, 6), rtol=1e-6)
    np.testing.assert_allclose(found["statistic"], (12, 6), rtol=1e-6)
    np.testing.assert_allclose(found["statistic_entropy"], (22, 12), rtol=1e-6)


def test_log_prob_gain_by_hand():
    before = f32([[[-1, -1], [-1, 5], [0, 0]]])
    after = f32([[[-0.5, -0.7], [-2, 7], [3, 3]]])
    mask = f32([[[1, 1], [1, 0], [0, 0]]])
    found = logprob_gain(before, after, mask, f32([[1, 0, 1]]))
    expected = {
        "gain_correct_sum": (0.8, 1),
        "gain_correct_mean": (0.4, 1),
        "gain_wrong_sum": (-1, 1),
        "gain_wrong_mean": (-1, 1),
    }
    assert set(found) == set(expected)
    for name, pair in expected.items():
        np.testing.assert_allclose(found[name], pair, rtol=1e-6, err_msg=name)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
