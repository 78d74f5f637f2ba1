"""SAPO: the smooth gate (methods.md 13)."""

import jax
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import loss_of
from tests.rl import softmax_policy as sp


@pytest.mark.parametrize(
    "advantage, ratio, gate",
    [
        (1.0, 0.5, 1.510163),
        (1.0, 1.0, 2.0),
        (1.0, 2.0, 2.924234),
        (-1.0, 0.5, 1.415938),
        (-1.0, 1.0, 1.904762),
        (-1.0, 2.0, 2.822000),
    ],
)
def test_literal(advantage, ratio, gate):
    value, _ = loss_of("sapo", [[[np.log(ratio)]]], advantage)
    np.testing.assert_allclose(value, -advantage * gate, atol=1e-6)


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_slope_is_one_on_policy(advantage):
    grad = jax.grad(lambda x: loss_of("sapo", x, advantage)[0])(np.zeros((1, 1, 1)))
    np.testing.assert_allclose(grad, -advantage, rtol=1e-6)


def test_gradient_is_that_of_the_softmax_policy():
    ratio, adv = np.exp(sp.LOG_RATIO), sp.ADVANTAGE
    tau = np.where(adv > 0, 1.0, 1.05)
    gate = 1 / (1 + np.exp(-tau * (ratio - 1)))
    slope = -adv * 4 * gate * (1 - gate) * ratio
    np.testing.assert_allclose(
        sp.loss_gradient(methods.resolve("sapo")),
        sp.expected_gradient(slope),
        rtol=5e-6,
        atol=5e-6,
    )


def test_temperatures_are_positive():
    with pytest.raises(UserError, match="tau_neg = 0.0"):
        methods.resolve("sapo", tau_neg=0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
