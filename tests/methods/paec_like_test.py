"""PAEC-like: the competition of a position and the one-sided bound (methods.md 9.5)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import competition, regularizers
from tests.rl.contexts import one_row

PROBABILITY = [0.5, 0.3, 0.15, 0.05]


def test_competition_literal():
    logits = jnp.log(jnp.array([PROBABILITY, [0.05, 0.5, 0.15, 0.3]])) + 3.0
    u = competition.competition(logits, top_p=0.9, mix=1.0)
    c = competition.competition(logits, top_p=0.9, mix=0.0)
    np.testing.assert_allclose(u, [0.904112] * 2, atol=1e-6)
    np.testing.assert_allclose(c, [0.6] * 2, atol=1e-6)
    both = competition.competition(logits, top_p=0.9, mix=0.5)
    np.testing.assert_allclose(both, (u + c) / 2, rtol=1e-6)


def test_a_nucleus_of_one_token_is_not_contested():
    logits = jnp.array([20.0, 0.0, 0.0])
    assert float(competition.competition(logits, top_p=0.9, mix=1.0)) == 0.0


@pytest.mark.parametrize("selected, penalty", [(0.5, 0.09), (0.9, 0.0)])
def test_penalty_literal(selected, penalty):
    gap = regularizers.entropy_shortfall(selected, 1.0, share=0.8, floor=0.0)
    np.testing.assert_allclose(gap**2, penalty, atol=1e-6)


def metrics(selected, mean):
    """Of ten tokens: sum m H / sum m and the mean of m."""
    weight = 10 * mean
    return {
        "statistic": (jnp.float32(weight), jnp.float32(10)),
        "statistic_entropy": (jnp.float32(weight * selected), jnp.float32(weight)),
    }


def test_the_first_step_anchors_and_later_ones_push():
    method = methods.resolve("paec_like", bonus=0.01, penalty=2.0, share=0.8)
    state = method.init_state()
    state = method.update_state(state, None, None, metrics(1.0, 0.5))
    np.testing.assert_allclose(state["positions"], [0.02, 1.0], rtol=1e-6)
    state = method.update_state(state, None, None, metrics(0.5, 0.25))
    # (0.01 + 2 * 2 * 0.3) / 0.25
    np.testing.assert_allclose(state["positions"], [4.84, 1.0], rtol=1e-6)


def test_the_slope_is_that_of_the_penalty():
    """Under a token mean, against d/dH of -b Hsel + l max(0, bound - Hsel)^2."""
    m, entropy = jnp.array([0.2, 0.9, 0.4]), jnp.array([0.3, 0.6, 0.2])
    weight = jnp.full(3, 1 / 3)

    def exact(h):
        selected = (m * h).sum() / m.sum()
        return -0.01 * selected + 2.0 * jnp.maximum(0.8 - selected, 0) ** 2

    selected = (m * entropy).sum() / m.sum()
    state = regularizers.calibrate_positions(
        jnp.array([0.0, 1.0]),
        metrics(selected, m.mean()),
        bonus=0.01,
        penalty=2.0,
        share=0.8,
        floor=0.0,
    )

    def term(h):
        ctx = one_row([0.0] * 3, entropy=[0.0] * 3, statistic=m)
        ctx = ctx.__class__(**{**vars(ctx), "entropy_BGT": h[None, None]})
        return (
            weight * regularizers.position_entropy(ctx, {"positions": state})[0][0, 0]
        ).sum()

    np.testing.assert_allclose(jax.grad(term)(entropy), jax.grad(exact)(entropy), 1e-5)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
