"""Base advantages against literal vectors (methods.md 1, 3, 4)."""

import numpy as np
import pytest

from agrae_jax.rl import advantages
from tests.rl.contexts import advantage_input

ONE_OF_FOUR = [[1.0, 0, 0, 0]]


@pytest.mark.parametrize(
    "ddof, eps, right, wrong",
    [
        (1, 1e-6, 1.499997, -0.499999),
        (0, 1e-6, 1.732047, -0.577349),
        (1, 1e-4, 1.4997, -0.4999),
    ],
)
def test_group_normalize(ddof, eps, right, wrong):
    inputs = advantage_input(ONE_OF_FOUR, ddof=ddof)
    tolerance = 1e-6 if eps < 1e-5 else 5e-5  # the last vector has four digits
    np.testing.assert_allclose(
        advantages.group_normalize(inputs, eps=eps),
        [[right, wrong, wrong, wrong]],
        atol=tolerance,
    )


def test_a_thousandth_of_reward_noise_becomes_a_unit_advantage():
    # All eight are right; a KL penalty in the reward tells them apart.
    noise = np.array([0.5, 0.1, -0.2, 0.3, 0, 0.2, -0.1, 0.4])
    inputs = advantage_input([-0.001 * noise], ddof=1)
    expected = [-1.423059, 0.203294, 1.423059, -0.609883]
    expected += [0.609883, -0.203294, 1.016471, -1.016471]
    np.testing.assert_allclose(
        advantages.group_normalize(inputs, eps=1e-6)[0], expected, rtol=5e-6
    )


@pytest.mark.parametrize("scale, shift", [(2.0, -1.0), (0.1, 5.0)])
def test_group_normalize_ignores_scale_and_shift(scale, shift):
    reward = np.array([[1.0, 0, 0, 1], [1, 1, 1, 0]])
    plain = advantages.group_normalize(advantage_input(reward), eps=0.0)
    moved = advantage_input(scale * reward + shift, correct=reward)
    found = advantages.group_normalize(moved, eps=0.0)
    np.testing.assert_allclose(found, plain, rtol=5e-6)


def test_group_center():
    np.testing.assert_allclose(
        advantages.group_center(advantage_input(ONE_OF_FOUR)),
        [[0.75, -0.25, -0.25, -0.25]],
    )


@pytest.mark.parametrize(
    "rewards, expected",
    [
        ([1, 0, 0, 0], [1, -1 / 3, -1 / 3, -1 / 3]),
        ([1, 1, 0], [0.5, 0.5, -1.0]),
    ],
)
def test_leave_one_out(rewards, expected):
    inputs = advantage_input([rewards])
    np.testing.assert_allclose(
        advantages.leave_one_out(inputs), [expected], rtol=1e-6, atol=1e-6
    )


def test_leave_one_out_counts_only_valid_samples():
    inputs = advantage_input([[1, 1, 0, 5]], valid=[[1, 1, 1, 0]])
    np.testing.assert_allclose(
        advantages.leave_one_out(inputs)[0, :3], [0.5, 0.5, -1.0], rtol=1e-6
    )


def test_sign_looks_at_correctness_alone():
    inputs = advantage_input([[0.3, -1.0]], correct=[[1, 0]])
    np.testing.assert_allclose(
        advantages.sign(inputs, correct=0.1, wrong=-1.0), [[0.1, -1.0]]
    )


@pytest.mark.parametrize("base", ["group_center", "leave_one_out", "group_normalize"])
def test_equal_rewards_give_exactly_zero(base):
    inputs = advantage_input([[0.9] * 7, [1.0] * 7, [0.0] * 7])
    keywords = {"eps": 1e-6} if base == "group_normalize" else {}
    np.testing.assert_array_equal(getattr(advantages, base)(inputs, **keywords), 0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
