"""GRPO end to end: advantages and loss from literal rewards (methods.md 1)."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from agrae_jax.rl import loss, reductions
from tests.rl.contexts import f32, reward_input, token_context

ONE_OF_FOUR = reward_input([[1, 0, 0, 0]])


@pytest.mark.parametrize(
    "kwargs, right, wrong",
    [
        ({}, 1.732047, -0.577349),
        ({"ddof": 1}, 1.499997, -0.499999),
    ],
)
def test_advantages(kwargs, right, wrong):
    method = methods.resolve("grpo", **kwargs)
    _, advantage_BG = loss.advantages(ONE_OF_FOUR, method=method)
    np.testing.assert_allclose(advantage_BG, [[right, wrong, wrong, wrong]], atol=1e-6)


def test_sum_of_absolute_advantages_is_the_theorems():
    count = np.arange(9)
    inputs = reward_input([[1.0] * k + [0.0] * (8 - k) for k in count])
    _, advantage_BG = loss.advantages(inputs, method=methods.resolve("grpo", eps=0.0))
    p = count / 8
    np.testing.assert_allclose(
        jnp.abs(advantage_BG).sum(-1), 16 * np.sqrt(p * (1 - p)), rtol=1e-6, atol=1e-6
    )


def test_loss_of_two_completions_by_hand():
    method = methods.resolve("grpo")
    mask = f32([[[1, 0], [1, 1]]])
    # Ratios 1.5 (clipped to 1.2), then 0.5 (clipped to 0.8) and 1.
    ctx = token_context(
        np.log([[[1.5, 1.0], [0.5, 1.0]]]),
        old=np.zeros((1, 2, 2)),
        mask=mask,
        weight=method.reduction(mask, 2),
    )
    advantage = f32([[[1.0, 0.0], [-1.0, -1.0]]])
    value, metrics = loss.rlvr_loss(
        ctx, advantage, jnp.ones_like(mask), (), method=method
    )
    np.testing.assert_allclose(value, (-1.2 + (0.8 + 1.0) / 2) / 2, rtol=1e-6)
    np.testing.assert_allclose(metrics["clip_fraction"], (2, 3))


def test_defaults_are_the_papers():
    method = methods.resolve("grpo")
    assert method.surrogate.keywords == {"low": 0.2, "high": 0.2, "dual": 0.0}
    assert method.reduction is reductions.sequence_mean
    assert (method.needs, method.regularizers, method.ddof) == (frozenset(), (), 0)


def test_kl_asks_for_the_reference():
    method = methods.resolve("grpo", kl_coef=0.04)
    assert method.needs == {"ref_logprob"}
    mask = jnp.ones((1, 1, 1))
    ctx = token_context([[[-1.0]]], ref=[[[-1.5]]])
    value, _ = loss.rlvr_loss(ctx, 0 * mask, mask, (), method=method)
    np.testing.assert_allclose(value, 0.04 * 0.1065307, rtol=1e-6)


def test_bad_settings_are_refused():
    with pytest.raises(UserError, match="above 1"):
        methods.resolve("grpo", dual_clip=0.5)
    with pytest.raises(UserError, match="did you mean 'token_mean'"):
        methods.resolve("grpo", reduction="tokens_mean")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
