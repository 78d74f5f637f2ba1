"""Truncated importance sampling as a method on any base (methods.md 13)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import loss_of

SAMPLER = {"sampler": [[[-1.0, 0.5, 0.0]]]}  # log pi_old - log pi_sampler 1, -.5, 0


@pytest.mark.parametrize(
    "kwargs, mean",
    [
        ({}, (2 + 0.606531 + 1) / 3),
        ({"level": "sequence"}, 1.648721),
        ({"cap": 1.0}, (1 + 0.606531 + 1) / 3),
    ],
)
def test_weights_multiply_the_loss(kwargs, mean):
    value, _ = loss_of("tis", np.zeros((1, 1, 3)), 1.0, arrays=SAMPLER, **kwargs)
    np.testing.assert_allclose(value, -mean, rtol=1e-6)


def test_it_goes_on_any_base():
    method = methods.resolve("tis", base="a_grae")
    assert len(method.shapers) == 2 and method.importance.keywords == {"cap": 2.0}


def test_an_unknown_level_is_refused():
    with pytest.raises(UserError, match="did you mean 'sequence'"):
        methods.resolve("tis", level="sequences")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
