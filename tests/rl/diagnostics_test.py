"""Diagnostics as (total, count), on a batch small enough to count by hand."""

import numpy as np
import pytest

from agrae_jax.rl.diagnostics import diagnostics
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


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
