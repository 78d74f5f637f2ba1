"""Which advantages sum to zero in a group: the table (methods.md 5.5), and limits.

A method that is not in it is held to its promise by the contract test.
"""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import loss
from agrae_jax.types import Beside
from tests.methods.running import advantages_of, group
from tests.rl.contexts import reward_input

# Sums of a group with 2 of 8 right, beside one with 5; omega of the batch is 7/16.
COUNTS = (2, 5)
ZERO, ABOVE, BELOW = "zero", "above", "below"
TABLE = {
    "a_grae": BELOW,
    "adaptive_entropy": ZERO,
    "asym_flip_like": BELOW,
    "asym_grpo": ABOVE,  # above for p < 1/2, below for p > 1/2
    "best_of_group": ABOVE,  # of a group with 1 of 8 right
    "cispo": ZERO,
    "clip_cov": ZERO,
    "dapo": ZERO,
    "dr_grpo": ZERO,
    "easy_focused": ZERO,
    "entropy_bonus": ZERO,
    "entropy_shaped": ZERO,
    "ep_grpo_like": ZERO,
    "f_grpo": ZERO,
    "gmpo": ZERO,
    "gpg": ZERO,
    "grpo": ZERO,
    "grpo_lead": ABOVE,
    "gspo": ZERO,
    "hard_focused": ZERO,
    "high_entropy": ZERO,
    "kl_cov": ZERO,
    "mis": ZERO,
    "mu_grpo_like": ZERO,
    "neg_dominant": BELOW,
    "nsr": BELOW,
    "opo": BELOW,  # with the right ones longer than the others, as here
    "paec_like": ZERO,
    "pass_at_k_training": ZERO,
    "pos_dominant": ABOVE,
    "psr": ABOVE,
    "reinforce": BELOW,
    "reinforce_pp": BELOW,
    "remax": BELOW,
    "rloo": ZERO,
    "sapo": ZERO,
    "sec": ZERO,
    "tis": ZERO,
    "w_reinforce": BELOW,
}


def group_sum(name, **kwargs):
    """The sum of advantages of a group with 2 of 8 right."""
    length = np.full((2, 8), 3)
    length[:, :2] = 5
    counts = (1, 5) if name == "best_of_group" else COUNTS
    inputs = reward_input([group(count, 8) for count in counts], length=length)
    beside = Beside(greedy=reward_input([[1.0], [0.0]]))
    method = methods.resolve(name, **kwargs)
    found = loss.advantages(inputs, method=method, beside=beside)[1]
    return float(found.sum(-1)[0])


@pytest.mark.parametrize("name", TABLE)
def test_sum_of_a_group(name):
    found = group_sum(name)
    sign = ZERO if abs(found) < 1e-5 else ABOVE if found > 0 else BELOW
    assert sign == TABLE[name], found
    assert methods.resolve(name).zero_sum == (sign == ZERO)


@pytest.mark.parametrize(
    "name, kwargs",
    [
        ("a_grae", {"group_level": False}),
        ("asym_grpo", {"beta_pos": 0.5, "beta_neg": 0.5}),
        ("asym_flip_like", {"beta": 1e-6}),  # nearly REINFORCE, far from zero
    ],
)
def test_keywords_that_change_the_answer(name, kwargs):
    assert (abs(group_sum(name, **kwargs)) < 1e-5) == (name != "asym_flip_like")
    assert methods.resolve(name, **kwargs).zero_sum == (name != "asym_flip_like")


def test_w_reinforce_literal():
    # p = .25, weight .1: C / G = .25 * .1 - .75.
    assert group_sum("w_reinforce") / 8 == pytest.approx(-0.725, abs=1e-6)


def test_a_group_of_one_teaches_nothing():
    """The config refuses G < 2; the kernels give 0 all the same."""
    for name in ("grpo", "dr_grpo", "rloo", "a_grae", "f_grpo", "pass_at_k_training"):
        np.testing.assert_array_equal(advantages_of(name, [[1.0], [0.0]]), 0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
