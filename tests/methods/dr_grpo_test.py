"""Dr. GRPO: no deviation, a constant denominator (methods.md 3)."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import loss
from tests.rl.contexts import f32, reward_input, token_context


def test_advantages():
    method = methods.resolve("dr_grpo")
    _, advantage_BG = loss.advantages(reward_input([[1, 0, 0, 0]]), method=method)
    np.testing.assert_allclose(advantage_BG, [[0.75, -0.25, -0.25, -0.25]])


def test_it_is_rloo_times_g_minus_one_over_g():
    inputs = reward_input([[1, 1, 0], [1, 0, 0]])
    _, advantage_BG = loss.advantages(inputs, method=methods.resolve("dr_grpo"))
    expected = np.array([[0.5, 0.5, -1.0], [1.0, -0.5, -0.5]]) * 2 / 3
    np.testing.assert_allclose(advantage_BG, expected, rtol=1e-6)


def test_loss_divides_by_rows_and_budget():
    method = methods.resolve("dr_grpo")
    mask = f32([[[1, 0, 0], [1, 1, 1]]])
    ctx = token_context(
        jnp.zeros((1, 2, 3)), mask=mask, weight=method.reduction(mask, 10)
    )
    value, _ = loss.rlvr_loss(
        ctx, -mask * f32([[[4], [2]]]), jnp.ones_like(mask), (), method=method
    )
    np.testing.assert_allclose(value, (4 + 6) / (2 * 10), rtol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
