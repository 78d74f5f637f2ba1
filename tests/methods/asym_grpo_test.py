"""AsymGRPO: powers of the odds (methods.md 7)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import advantages_of, group


@pytest.mark.parametrize(
    "count, samples, betas, right, wrong",
    [
        (1, 8, (0.5, 0.5), 2.645751, -0.377964),
        (1, 8, (0.9, 0.4), 5.762199, -0.459157),
        (2, 8, (0.5, 0.5), 1.732051, -0.577350),
        (2, 8, (0.9, 0.4), 2.687875, -0.644394),
        (4, 8, (0.9, 0.4), 1.0, -1.0),
        (7, 8, (0.5, 0.5), 0.377964, -2.645751),
        (7, 8, (0.9, 0.4), 0.173545, -2.177906),
    ],
)
def test_literal(count, samples, betas, right, wrong):
    kwargs = {"beta_pos": betas[0], "beta_neg": betas[1]}
    found = advantages_of("asym_grpo", [group(count, samples)], **kwargs)[0]
    np.testing.assert_allclose(found[:count], right, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[count:], wrong, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "count, total", [(1, 0.318513), (2, 0.188673), (4, 0.0), (7, -0.120387)]
)
def test_group_sum(count, total):
    found = advantages_of("asym_grpo", [group(count, 8)])
    np.testing.assert_allclose(found.sum() / 8, total, atol=1e-6)


def test_halves_are_grpo_with_the_population_deviation():
    correct = [group(k, 8) for k in range(9)]
    np.testing.assert_allclose(
        advantages_of("asym_grpo", correct, beta_pos=0.5, beta_neg=0.5),
        advantages_of("grpo", correct, eps=0.0),
        rtol=1e-6,
        atol=1e-6,
    )


def test_solved_and_unsolved_groups():
    ends = [group(0, 4), group(4, 4)]
    np.testing.assert_array_equal(advantages_of("asym_grpo", ends), 0.0)
    flat = advantages_of("asym_grpo", ends, beta_pos=0.0, beta_neg=0.0)
    np.testing.assert_array_equal(flat, [[-1.0] * 4, [1.0] * 4])


def test_what_it_promises():
    assert methods.resolve("asym_grpo", beta_pos=0.5, beta_neg=0.5).zero_sum
    assert not methods.resolve("asym_grpo", beta_pos=0.0).dead_groups_zero


def test_a_negative_exponent_is_sent_to_the_flip():
    with pytest.raises(UserError, match="asym_flip_like"):
        methods.resolve("asym_grpo", beta_neg=-0.5)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
