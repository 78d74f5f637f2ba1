"""Masked importance sampling as a method on any base (methods.md 13)."""

import numpy as np
import pytest

from tests.methods.running import loss_of

SAMPLER = {"sampler": [[[-1.0, 0.5, 0.0]]]}  # log pi_old - log pi_sampler 1, -.5, 0


@pytest.mark.parametrize(
    "kwargs, mean",
    [
        ({}, (0 + 0.606531 + 1) / 3),
        ({"low": 0.7}, 1 / 3),
        ({"level": "sequence"}, 1.648721),
        ({"level": "sequence", "high": 1.5}, 0.0),
    ],
)
def test_what_leaves_the_range_does_not_train(kwargs, mean):
    value, _ = loss_of("mis", np.zeros((1, 1, 3)), 1.0, arrays=SAMPLER, **kwargs)
    np.testing.assert_allclose(value, -mean, rtol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
