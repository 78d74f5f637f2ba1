"""REINFORCE: plus and minus one, clipped or not (methods.md 4)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of, loss_of


def test_advantages_are_the_verdict():
    np.testing.assert_array_equal(
        advantages_of("reinforce", [[1, 0], [1, 1], [0, 0]]),
        [[1, -1], [1, 1], [-1, -1]],
    )


def test_an_ungradable_sample_is_not_a_wrong_one():
    found = advantages_of("reinforce", [[1, 0]], valid=[[1, 0]])
    np.testing.assert_array_equal(found, [[1, 0]])


def test_clipped_and_plain_loss():
    logprob = np.log([[[1.5, 1.0], [0.5, 1.0]]])
    advantage = [[[1.0], [-1.0]]]
    value, _ = loss_of("reinforce", logprob, advantage)
    np.testing.assert_allclose(value, (-1.2 - 1.0 + 0.8 + 1.0) / 4, rtol=1e-6)
    value, _ = loss_of("reinforce", logprob, advantage, clip=False)
    np.testing.assert_allclose(
        value, (-np.log(1.5) + np.log(0.5)) / 2, rtol=1e-6, atol=1e-6
    )


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
