"""Mu-GRPO-like: the suffix veto and the wide clip (methods.md 12)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.rl.contexts import f32, one_row

RATIOS = [1.0, 0.9, 0.3, 0.8, 1.1]


def kept(advantage, ratios=RATIOS, mask=None, **kwargs):
    """Which tokens send a gradient, and the metrics."""
    surrogate = methods.resolve("mu_grpo_like", clip_low=0.9, **kwargs).surrogate
    old = [0.0] * len(ratios)

    def loss(logprob):
        ctx = one_row(old, old=old, mask=mask)
        ctx = ctx.__class__(**{**vars(ctx), "logprob_BGT": logprob})
        value, metrics = surrogate(ctx, jnp.full((1, 1, len(ratios)), advantage))
        return value.sum(), metrics

    grad, metrics = jax.grad(loss, has_aux=True)(f32([[np.log(ratios)]]))
    return (np.asarray(grad)[0, 0] != 0).astype(int).tolist(), metrics


def test_literal():
    found, metrics = kept(-1.0)
    assert found == [1, 1, 1, 0, 0]
    np.testing.assert_allclose(metrics["veto_fraction"], (2, 5))
    assert kept(1.0)[0] == [1, 1, 1, 1, 1]


def test_edges():
    assert kept(-1.0, [0.3, 1.0, 1.0])[0] == [1, 0, 0]  # trigger at the first token
    assert kept(-1.0, [1.0, 0.3, 0.2])[0] == [1, 1, 0]
    assert kept(-1.0, veto_low=0.0)[0] == [1] * 5
    assert kept(-1.0, [1.0, 1.6, 1.0], veto_low=0.0, veto_high=1.5)[0] == [1, 1, 0]
    # A trigger at padding is none.
    assert kept(-1.0, [1.0, 0.3, 1.0], mask=[1, 0, 1])[0] == [1, 0, 1]


def test_a_stage_is_a_rollout_of_many_updates():
    assert methods.resolve("mu_grpo_like").schedule.mini_batches is None
    method = methods.resolve("mu_grpo_like", updates=16)
    assert method.schedule.mini_batches == 16
    assert method.status == "experimental"
    with pytest.raises(UserError, match="updates = -1"):
        methods.resolve("mu_grpo_like", updates=-1)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
