"""Importance weights against literal vectors (methods.md 13)."""

import jax
import numpy as np
import pytest

from agrae_jax.rl import importance
from tests.rl.contexts import one_row

GAP = dict(old=[-1.0, -1.5, -1.0], sampler=[-2.0, -1.0, -1.0])  # 1, -.5, 0


def test_truncated_token():
    weight_BGT = importance.truncated_token(one_row([-1.0] * 3, **GAP), cap=2.0)
    np.testing.assert_allclose(weight_BGT[0, 0], [2.0, 0.606531, 1.0], atol=1e-6)


def test_truncated_sequence():
    ctx = one_row([-1.0] * 3, **GAP)
    np.testing.assert_allclose(
        importance.truncated_sequence(ctx, cap=2.0)[0, 0], [1.648721] * 3, atol=1e-6
    )
    np.testing.assert_allclose(importance.truncated_sequence(ctx, cap=1.5), 1.5)


def test_padding_and_gradient_take_no_part():
    ctx = one_row([-1.0] * 3, mask=[1, 1, 0], **GAP)
    np.testing.assert_allclose(
        importance.truncated_sequence(ctx, cap=9.0)[0, 0], [1.648721] * 3, atol=1e-6
    )

    def total(ctx):
        return importance.truncated_token(ctx, cap=2.0).sum()

    grad = jax.grad(total, allow_int=True)(ctx)
    np.testing.assert_array_equal(grad.old_logprob_BGT, 0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
