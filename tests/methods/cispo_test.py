"""CISPO: clipped weights, whole gradients (methods.md 10.2)."""

from functools import partial

import jax
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import surrogates
from tests.methods.running import loss_of
from tests.rl import softmax_policy as sp
from tests.rl.contexts import f32

RATIOS = np.array([0.5, 1.5, 4.0])


@pytest.mark.parametrize(
    "kwargs, weights",
    [
        ({}, [0.5, 1.28, 1.28]),
        ({"clip_low": 0.2}, [0.8, 1.28, 1.28]),
        ({"clip_high": 4.0}, [0.5, 1.5, 4.0]),
    ],
    ids=["paper", "verl", "trl"],
)
def test_weights_are_the_gradient_on_log_pi(kwargs, weights):
    old = {"old": [[[-2.0] * 3]]}
    logprob = f32([[np.log(RATIOS) - 2.0]])

    def run(x):
        return loss_of("cispo", x, 1.0, arrays=dict(old), **kwargs)[0]

    np.testing.assert_allclose(-3 * jax.grad(run)(logprob)[0, 0], weights, rtol=5e-6)
    np.testing.assert_allclose(
        -3 * run(logprob), np.sum(weights * np.asarray(logprob)[0, 0]), rtol=5e-6
    )


def test_gradient_is_that_of_the_softmax_policy():
    ratio = np.exp(sp.LOG_RATIO)
    assert (ratio > 1.28).any()
    np.testing.assert_allclose(
        sp.loss_gradient(methods.resolve("cispo")),
        sp.expected_gradient(-np.minimum(ratio, 1.28) * sp.ADVANTAGE),
        rtol=5e-6,
        atol=5e-6,
    )


def test_inside_the_clip_range_it_is_ppos_gradient():
    wide = {"low": 1.0, "high": 1e6}
    cispo = sp.loss_gradient(methods.resolve("cispo", clip_high=1e6))
    grpo = methods.resolve("grpo", clip_low=1.0, clip_high=1e6)
    assert grpo.surrogate.keywords.items() >= wide.items()
    np.testing.assert_allclose(cispo, sp.loss_gradient(grpo), rtol=5e-6, atol=5e-6)


def test_clip_fraction_counts_clipped_weights():
    surrogate = partial(surrogates.cispo, low=0.2, high=0.28)
    assert (
        methods.override(methods.resolve("cispo"), clip_low=0.2).surrogate.keywords[
            "low"
        ]
        == surrogate.keywords["low"]
    )
    _, metrics = loss_of("cispo", [[np.log(RATIOS)]], 1.0, clip_low=0.2)
    assert metrics["clip_fraction"] == (3.0, 3.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
