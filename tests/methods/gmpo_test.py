"""GMPO: the geometric mean of one-sidedly clipped ratios (methods.md 13)."""

import numpy as np
import pytest

from agrae_jax import methods
from tests.methods.running import loss_of
from tests.rl import softmax_policy as sp


def test_value_without_a_clip_is_gspos():
    value, metrics = loss_of("gmpo", [[[0.1, -0.2, 0.4]]], 1.0)
    np.testing.assert_allclose(value, -1.105171, atol=1e-6)
    assert metrics["clip_fraction"] == (0.0, 3.0)


@pytest.mark.parametrize(
    "advantage, mean", [(1.0, (0.4 - 0.9) / 2), (-1.0, (0.8 - 0.4) / 2)]
)
def test_the_clip_is_on_one_side(advantage, mean):
    value, metrics = loss_of("gmpo", [[[0.8, -0.9]]], advantage)
    np.testing.assert_allclose(value, -advantage * np.exp(mean), rtol=1e-6)
    assert metrics["clip_fraction"] == (1.0, 2.0)


def test_gradient_is_that_of_the_softmax_policy():
    # All tokens of a completion share its loss, so its row's weights add up.
    low = high = 0.3
    d, adv = sp.LOG_RATIO, sp.ADVANTAGE
    bound = np.where(adv > 0, np.minimum(d, high), np.maximum(d, -low)) * sp.MASK
    length = np.maximum(sp.MASK.sum(-1, keepdims=True), 1)
    value = -adv * np.exp(bound.sum(-1, keepdims=True) / length)
    row = (sp.WEIGHT * value).sum(-1, keepdims=True) / length
    open_ = np.where(adv > 0, d <= high, d >= -low) * sp.MASK
    assert 0 < open_.sum() < sp.MASK.sum()
    slope = np.where(sp.MASK > 0, open_ * row / np.maximum(sp.WEIGHT, 1e-9), 0.0)
    method = methods.resolve("gmpo", clip_low=low, clip_high=high)
    np.testing.assert_allclose(
        sp.loss_gradient(method), sp.expected_gradient(slope), rtol=5e-6, atol=5e-6
    )


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
