"""Shapers against literal vectors (methods.md 5.1 and 5.11)."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.rl import shapers
from tests.rl.contexts import advantage_input, f32

ALL_COUNTS = [[1.0] * k + [0.0] * (8 - k) for k in range(9)]
PAPER = [0.886399, 0.746410, 0.706072, 0.707107, 0.742880, 0.830940, 1.062337]
CODE = [1.029761, 1.000000, 1.100537, 1.307107, 1.685438, 2.470171, 4.858803]


def with_omega(inputs, omega):
    stats = dataclasses.replace(inputs.stats, omega=f32(omega))
    return dataclasses.replace(inputs, stats=stats)


def factor(easy, omega, eps=0.0):
    inputs = with_omega(advantage_input(ALL_COUNTS), omega)
    ones = jnp.ones_like(inputs.reward_BG)
    shaped = shapers.difficulty_shift(ones, inputs, easy=easy, eps=eps)
    return shaped[:, 0]


def test_difficulty_factor_of_paper_and_code_at_omega_04():
    paper = factor(lambda p: jnp.sqrt(1 - p), 0.4)
    code = factor(lambda p: 1 - jnp.sqrt(p), 0.4)
    np.testing.assert_allclose(paper[1:8], PAPER, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(code[1:8], CODE, rtol=1e-6, atol=1e-6)


def test_named_forms_are_those_of_paper_and_code():
    inputs = with_omega(advantage_input(ALL_COUNTS), 0.4)
    ones = jnp.ones_like(inputs.reward_BG)
    paper = shapers.DIFFICULTY_SHIFTS["sqrt1mp"](ones, inputs)[:, 0]
    code = shapers.DIFFICULTY_SHIFTS["one_minus_sqrt"](ones, inputs)[:, 0]
    np.testing.assert_allclose(paper[1:8], PAPER, rtol=1e-6, atol=1e-6)
    # The code adds 1e-6 to each divisor, which at p = 7/8 is worth 7e-5.
    np.testing.assert_allclose(code[1:8], CODE, rtol=2e-5)
    np.testing.assert_allclose(code[7], 4.858731, rtol=1e-6)


def test_solved_and_unsolved_groups_keep_their_advantage():
    for easy in (lambda p: jnp.sqrt(1 - p), lambda p: 1 - jnp.sqrt(p)):
        shaped = factor(easy, 0.4)
        assert shaped[0] == 1.0 and shaped[8] == 1.0


def test_omega_half_is_symmetric_in_difficulty():
    shaped = factor(lambda p: jnp.sqrt(1 - p), 0.5)
    np.testing.assert_allclose(shaped, shaped[::-1], rtol=1e-6)


def test_total_weight_has_its_closed_form_and_peak():
    # sum |A| / G = omega sqrt(1 - p) + (1 - omega) sqrt(p), greatest at p* = .692308.
    count, group, omega = 9, 13, 0.4
    p = count / group
    inputs = advantage_input([[1.0] * count + [0.0] * (group - count)])
    inputs = with_omega(inputs, omega)
    base = (inputs.reward_BG - p) / np.sqrt(p * (1 - p))
    shaped = shapers.DIFFICULTY_SHIFTS["sqrt1mp"](base, inputs)
    np.testing.assert_allclose(p, 0.692308, atol=1e-6)
    np.testing.assert_allclose(jnp.abs(shaped).sum() / group, 0.721110, atol=1e-6)


@pytest.mark.parametrize("alpha, damping", [(1.0, 0.4), (0.5, 0.8), (0.4, 1), (0.2, 1)])
def test_attenuation_touches_positive_advantages_only(alpha, damping):
    inputs = with_omega(advantage_input([[1.0, 0, 0]]), 0.4)
    shaped = shapers.attenuate_positive(f32([[2.0, -1.0, 0.0]]), inputs, alpha=alpha)
    np.testing.assert_allclose(shaped, [[2 * damping, -1.0, 0.0]], rtol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
