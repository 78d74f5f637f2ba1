"""GSPO: the ratio of whole completions (methods.md 13)."""

import numpy as np
import pytest

from agrae_jax import methods
from tests.methods.running import loss_of
from tests.rl import softmax_policy as sp

LOG_RATIOS = [[[0.1, -0.2, 0.4]]]


def test_value_is_the_geometric_mean():
    value, _ = loss_of("gspo", LOG_RATIOS, 1.0, clip_low=9.0, clip_high=9.0)
    np.testing.assert_allclose(value, -1.105171, atol=1e-6)


def test_clip_is_on_the_sequence():
    value, metrics = loss_of("gspo", LOG_RATIOS, 1.0)
    np.testing.assert_allclose(value, -1.0004, atol=1e-6)
    assert metrics["clip_fraction"] == (3.0, 3.0)
    value, _ = loss_of("gspo", LOG_RATIOS, -1.0)
    np.testing.assert_allclose(value, 1.105171, atol=1e-6)


def test_gradient_is_that_of_the_softmax_policy():
    length = np.maximum(sp.MASK.sum(-1, keepdims=True), 1)
    ratio = np.exp(sp.LOG_RATIO.sum(-1, keepdims=True) / length)
    clipped = (sp.ADVANTAGE > 0) & (ratio > 1.1) | (sp.ADVANTAGE < 0) & (ratio < 0.9)
    assert 0 < (clipped * sp.MASK).sum() < sp.MASK.sum()
    slope = np.where(clipped, 0.0, -sp.ADVANTAGE * ratio)
    method = methods.resolve("gspo", clip_low=0.1, clip_high=0.1)
    np.testing.assert_allclose(
        sp.loss_gradient(method), sp.expected_gradient(slope), rtol=5e-6, atol=5e-6
    )


def test_one_token_a_row_is_grpo():
    logprob = np.log([[[1.5], [0.5], [0.9]]])
    advantage = [[[1.0], [-1.0], [1.0]]]
    gspo, _ = loss_of("gspo", logprob, advantage, clip_low=0.2, clip_high=0.2)
    grpo, _ = loss_of("grpo", logprob, advantage)
    np.testing.assert_allclose(gspo, grpo, rtol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
