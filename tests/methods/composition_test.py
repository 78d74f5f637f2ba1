"""Methods compose by argument: levels, weights, corrections and terms on any base."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import importance, loss, regularizers
from tests.methods.running import advantages_of, group
from tests.rl.contexts import reward_input, token_context

CORRECT = [group(c, 8) for c in (1, 7, 4, 0)]  # omega .375


@pytest.mark.parametrize("base", ["grpo", "dapo", "dr_grpo", "cispo", "gspo", "rloo"])
def test_both_levels_go_on_any_base(base):
    under = methods.resolve(base)
    method = methods.resolve("a_grae", base=base)
    for part in ("surrogate", "reduction", "credit", "reward"):
        assert repr(getattr(method, part)) == repr(getattr(under, part)), part
    p = np.array([1, 7, 4]) / 8
    factor = 0.375 / (2 * np.sqrt(p)) + 0.625 / (2 * np.sqrt(1 - p))
    plain = np.asarray(advantages_of(base, CORRECT))
    expected = plain[:3] * factor[:, None]
    expected = np.where(expected > 0, 0.375 * expected, expected)
    found = np.asarray(advantages_of("a_grae", CORRECT, base=base))
    np.testing.assert_allclose(found[:3], expected, rtol=5e-6, atol=1e-6)
    np.testing.assert_array_equal(found[3], 0.0)


@pytest.mark.parametrize("base", ["grpo", "dapo", "cispo"])
def test_f_grpo_goes_on_the_papers_three(base):
    weight = np.sqrt(1 - np.array([1, 7, 4, 0]) / 8)[:, None]
    plain = np.asarray(advantages_of(base, CORRECT))
    found = np.asarray(advantages_of("f_grpo", CORRECT, base=base))
    np.testing.assert_allclose(found, weight * plain, rtol=5e-6, atol=1e-6)
    under = methods.resolve(base)
    assert repr(methods.resolve("f_grpo", base=base).surrogate) == repr(under.surrogate)


def takes_a_base(name):
    return "base" in methods.signature_defaults(name)


@pytest.mark.parametrize("name", [n for n in methods.names() if not takes_a_base(n)])
def test_correction_bonus_and_kl_go_on_anything(name):
    under = methods.resolve(name)
    corrected = methods.resolve("tis", base=name)
    assert corrected.importance.func is importance.truncated_token
    assert corrected.needs == under.needs
    both = methods.override(under, entropy_coef=0.001, kl_coef=0.04, kl_kind="k2")
    assert both.needs == under.needs | {"token_entropy", "ref_logprob"}
    added = [
        term
        for term in both.regularizers
        if getattr(term, "func", None)
        in (regularizers.entropy_bonus, regularizers.kl_penalty)
    ]
    assert len(added) == 2


def test_the_bonus_of_the_papers_recipe_goes_under_a_grae():
    method = methods.override(methods.resolve("a_grae"), entropy_coef=0.001)
    one = jnp.ones((1, 2, 3))
    ctx = token_context(-one, entropy=2 * one, weight=one / 6)
    zero = jnp.zeros((1, 2, 3))
    value, _ = loss.rlvr_loss(ctx, zero, one, (), method=method)
    np.testing.assert_allclose(value, -0.002, rtol=1e-6)


def test_a_kl_in_the_reward_leaves_p_and_omega_alone():
    plain = methods.resolve("a_grae")
    method = methods.override(plain, kl_reward_coef=0.001)
    gap = np.random.default_rng(0).normal(0, 1, (4, 8, 5)).astype(np.float32)
    inputs = reward_input(CORRECT)
    inputs = inputs.__class__(**{**vars(inputs), "ref_gap_BGT": jnp.asarray(gap)})
    seen, found = loss.advantages(inputs, method=method)
    np.testing.assert_allclose(seen.stats.p_B, np.array([1, 7, 4, 0]) / 8)
    np.testing.assert_allclose(seen.stats.omega, 0.375)
    np.testing.assert_allclose(
        seen.reward_BG, np.array(CORRECT) - 0.001 * gap.sum(-1), atol=1e-6
    )
    # An all-wrong group now learns of nothing but the KL, at unit scale.
    assert np.abs(found[3]).max() > 1.0
    assert not method.dead_groups_zero
    assert method.needs == {"ref_gap"}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
