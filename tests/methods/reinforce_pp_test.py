"""REINFORCE++: whitening over the tokens of the batch (methods.md 4)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import advantages_of
from tests.rl.contexts import advantage_input, token_context


def test_literal():
    found = advantages_of("reinforce_pp", [[1, 0]], length=[[2, 3]])
    np.testing.assert_allclose(found, [[1.095445, -0.730297]], atol=1e-6)


def test_literal_with_a_group_baseline():
    found = advantages_of(
        "reinforce_pp",
        [[1, 0, 0], [1, 1, 0]],
        length=[[1, 1, 1], [1, 1, 1]],
        group_baseline=True,
    )
    expected = [[1.290994, -0.645497, -0.645497], [0.645497, 0.645497, -1.290994]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_tokens_have_mean_zero_and_variance_one():
    length = np.array([[2, 7, 4], [5, 1, 3]])
    found = advantages_of("reinforce_pp", [[1, 0, 1], [0, 0, 1]], length=length)
    tokens = np.repeat(np.asarray(found).ravel(), length.ravel())
    np.testing.assert_allclose(tokens.mean(), 0.0, atol=1e-6)
    np.testing.assert_allclose(tokens.var(ddof=1), 1.0, rtol=5e-6)


def test_equal_rewards_everywhere_are_finite():
    np.testing.assert_allclose(advantages_of("reinforce_pp", [[1, 1], [1, 1]]), 0.0)


def credited(**kwargs):
    """Tokens of a right completion of 2 and a wrong one of 3 tokens."""
    method = methods.resolve("reinforce_pp", **kwargs)
    inputs = advantage_input([[1.0, 0.0]])
    ctx = token_context(
        np.zeros((1, 2, 3)),
        old=[[[0.1, 0.3, 9], [0.2, 0.0, 0.0]]],
        ref=np.zeros((1, 2, 3)),
        mask=[[[1, 1, 0], [1, 1, 1]]],
        inputs=inputs,
    )
    return method.credit(method.base(inputs), ctx)


def test_a_discount_by_hand():
    # Returns .5, 1 and 0, 0, 0: mean .3, unbiased variance .2.
    expected = [[[0.447214, 1.565248, 0.0], [-0.670820] * 3]]
    np.testing.assert_allclose(credited(gamma=0.5), expected, atol=1e-6)


def test_without_a_discount_it_is_the_advantage_of_the_completion():
    found = credited(gamma=1.0, kl_coef=1e-12)
    expected = [[[1.095445, 1.095445, 0.0], [-0.730297] * 3]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_kl_in_the_reward_by_hand():
    # x = -.1, .7 and -.2, 0, 0; returns .6, .7 and -.2, 0, 0: mean .22,
    # squares .1444, .2304, .1764, .0484, .0484 over 4 = .162.
    expected = [[[0.944118, 1.192570, 0.0], [-1.043498, -0.546594, -0.546594]]]
    np.testing.assert_allclose(credited(kl_coef=1.0), expected, atol=1e-6)


def test_a_group_baseline_takes_no_discount():
    with pytest.raises(UserError, match="takes neither gamma"):
        methods.resolve("reinforce_pp", group_baseline=True, gamma=0.9)
    with pytest.raises(UserError, match="gamma = 0.0 must lie"):
        methods.resolve("reinforce_pp", gamma=0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
