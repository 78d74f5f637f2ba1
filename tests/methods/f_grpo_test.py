"""F-GRPO: the focal weight, on three bases (methods.md 10.1)."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from agrae_jax.rl import loss, shapers
from tests.methods.running import advantages_of, group
from tests.rl.contexts import advantage_input, reward_input


@pytest.mark.parametrize(
    "gamma, hard, solved",
    [
        (0.5, 0.935414, 0.353553),
        (1.0, 0.875, 0.125),
        (2.0, 0.765625, 0.015625),
    ],
)
def test_weight(gamma, hard, solved):
    inputs = advantage_input([group(1, 8), group(7, 8), group(8, 8), group(0, 8)])
    weight = shapers.focal(jnp.ones((4, 8)), inputs, gamma=gamma)[:, 0]
    np.testing.assert_allclose(weight, [hard, solved, 0, 1], atol=1e-6)


def test_literal_advantages_with_the_sample_deviation():
    method = dataclasses.replace(methods.resolve("f_grpo"), ddof=1)
    _, found = loss.advantages(reward_input([group(7, 8)]), method=method)
    np.testing.assert_allclose(found[0], [0.125] * 7 + [-0.874998], atol=1e-6)


@pytest.mark.parametrize("base", ["grpo", "dapo", "cispo"])
def test_gamma_zero_is_the_base(base):
    correct = [group(k, 8) for k in range(9)]
    np.testing.assert_array_equal(
        advantages_of("f_grpo", correct, base=base, gamma=0.0),
        advantages_of(base, correct),
    )


def test_gamma_is_not_negative():
    with pytest.raises(UserError, match="gamma = -1.0"):
        methods.resolve("f_grpo", gamma=-1.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
