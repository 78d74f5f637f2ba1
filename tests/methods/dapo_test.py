"""DAPO: clip-higher, token mean, overlong penalty, selection (methods.md 2)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from agrae_jax.rl import rewards
from agrae_jax.types import STOP_EOS, STOP_LENGTH
from tests.methods.running import advantages_of, loss_of
from tests.rl.contexts import reward_input


def penalty(length, max_tokens, cache):
    inputs = reward_input(np.ones((1, len(length))), length=[length])
    shaped = rewards.overlong(inputs, wrong=-1.0, max_tokens=max_tokens, cache=cache)
    return shaped[0] - 1


def test_overlong_penalty():
    length = [16384, 17408, 18432, 20480, 20481]
    np.testing.assert_allclose(
        penalty(length, 20480, 4096), [0, -0.25, -0.5, -1, -1], atol=1e-6
    )
    np.testing.assert_allclose(penalty([90], 100, 20), [-0.5], atol=1e-6)


def test_overlong_reward_is_plus_or_minus_one_with_penalty():
    method = methods.resolve("dapo", overlong_cache=20, max_tokens=100)
    reward = method.reward(reward_input([[1, 0]], length=[[50, 90]]))
    np.testing.assert_allclose(reward, [[1.0, -1.5]])
    assert not method.dead_groups_zero


def test_loss_clips_higher_and_averages_over_tokens():
    ratios = np.array([[[1.25, 1.5], [1.0, 1.0]]])
    mask = [[[1, 1], [1, 0]]]
    value, _ = loss_of("dapo", np.log(ratios), 1.0, arrays={"mask": mask})
    np.testing.assert_allclose(value, -(1.25 + 1.28 + 1.0) / 3, rtol=1e-6)


def test_advantages_are_grpos():
    np.testing.assert_array_equal(
        advantages_of("dapo", [[1, 0, 0]]), advantages_of("grpo", [[1, 0, 0]])
    )


def test_selection():
    inputs = reward_input(
        [[1, 1, 1], [0, 0, 0], [1, 0, 1], [1, 1, 0]],
        valid=[[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0]],
        stop=[[STOP_EOS, STOP_LENGTH, STOP_EOS]] * 4,
    )
    dynamic = methods.resolve("dapo", dynamic_sampling=True).select
    np.testing.assert_array_equal(dynamic((), inputs), [[0], [0], [1], [0]])
    ended = methods.resolve("dapo", overlong_filter=True).select
    np.testing.assert_array_equal(ended((), inputs), [[1, 0, 1]] * 4)
    both = methods.resolve("dapo", overlong_filter=True, dynamic_sampling=True).select
    np.testing.assert_array_equal(
        both((), inputs), [[0, 0, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    )
    assert methods.resolve("dapo").select is None


def test_a_cache_beyond_the_budget_is_refused():
    with pytest.raises(UserError, match="overlong_cache = 200 must lie in"):
        methods.resolve("dapo", overlong_cache=200, max_tokens=100)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
