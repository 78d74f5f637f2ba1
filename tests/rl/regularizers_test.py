"""KL and entropy terms: literals, and gradients against the exact ones."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.rl import regularizers
from tests.rl.contexts import f32, one_row, token_context

H = f32([1.0, 0.5, 0.0, -0.5, -1.0])
REF = f32([0.2, -0.4, 0.7, 0.1, -0.3])


def kl(p_logits, q_logits):
    p, q = jax.nn.log_softmax(p_logits), jax.nn.log_softmax(q_logits)
    return jnp.sum(jnp.exp(p) * (p - q))


def expected(estimator, logits):
    """Value and gradient of the term over every action, weighted by pi (constant).

    All five actions are rows of one group, one token each: the sample mean of the
    estimator becomes its exact expectation under the policy.
    """
    pi = jax.lax.stop_gradient(jax.nn.softmax(logits))

    def term(logits):
        ctx = token_context(
            jax.nn.log_softmax(logits)[None, :, None],
            ref=jax.nn.log_softmax(REF)[None, :, None],
        )
        loss_BGT, _ = regularizers.kl_penalty(ctx, (), coef=1.0, estimator=estimator)
        return jnp.sum(pi[None, :, None] * loss_BGT)

    return jax.value_and_grad(term)(logits)


def test_k3_literals():
    ctx = one_row([-1.0, -1.0], ref=[-1.5, -0.5])
    loss_BGT, metrics = regularizers.kl_penalty(
        ctx, (), coef=1.0, estimator=regularizers.k3
    )
    np.testing.assert_allclose(loss_BGT[0, 0], [0.1065307, 0.1487213], atol=1e-6)
    np.testing.assert_allclose(metrics["kl_ref"], (0.2552520, 2.0), atol=1e-6)


def test_k1_and_k3_are_unbiased_and_k3_is_never_negative():
    exact = kl(H, REF)
    assert exact > 0.05
    for estimator in (regularizers.k1, regularizers.k3):
        np.testing.assert_allclose(expected(estimator, H)[0], exact, rtol=1e-5)
    assert float(jnp.min(regularizers.k3(jnp.linspace(-3, 3, 101)))) >= 0.0


def test_gradient_of_k2_is_that_of_the_kl_to_the_reference():
    exact = jax.grad(kl)(H, REF)
    np.testing.assert_allclose(expected(regularizers.k2, H)[1], exact, atol=1e-6)
    # The right sign: a step against it lowers the KL.
    assert kl(H - 0.1 * expected(regularizers.k2, H)[1], REF) < kl(H, REF)


def test_gradient_of_k3_is_that_of_the_other_kl():
    exact = jax.grad(lambda h: kl(REF, h))(H)
    np.testing.assert_allclose(expected(regularizers.k3, H)[1], exact, atol=1e-6)


def test_gradient_of_k1_vanishes():
    np.testing.assert_allclose(expected(regularizers.k1, H)[1], 0.0, atol=1e-6)


def test_kl_is_scaled_by_its_coefficient_and_bounded_far_away():
    ctx = one_row([-100.0, -1.0], ref=[0.0, -2.0])
    loss_BGT, _ = regularizers.kl_penalty(ctx, (), coef=0.5, estimator=regularizers.k1)
    np.testing.assert_allclose(loss_BGT[0, 0], [-10.0, 0.5])


def test_entropy_bonus_raises_entropy():
    def loss(logits):
        logprob = jax.nn.log_softmax(logits)
        entropy = -jnp.sum(jnp.exp(logprob) * logprob)
        ctx = token_context(jnp.zeros((1, 1, 1)), entropy=jnp.zeros((1, 1, 1)))
        ctx = dataclasses.replace(ctx, entropy_BGT=entropy[None, None, None])
        return regularizers.entropy_bonus(ctx, (), coef=0.01)[0].sum(), entropy

    (value, entropy), grad = jax.value_and_grad(loss, has_aux=True)(H)
    np.testing.assert_allclose(value, -0.01 * entropy, rtol=1e-6)
    assert loss(H - 10.0 * grad)[1] > entropy


def test_padding_is_ignored():
    nan = float("nan")
    mask = [1, 0]
    ctx = one_row([-1.0, nan], ref=[-1.5, nan], entropy=[2.0, nan], mask=mask)
    kl_BGT, _ = regularizers.kl_penalty(ctx, (), coef=1.0, estimator=regularizers.k3)
    entropy_BGT, _ = regularizers.entropy_bonus(ctx, (), coef=1.0)
    np.testing.assert_allclose(kl_BGT[0, 0], [0.1065307, 0.0], atol=1e-6)
    np.testing.assert_allclose(entropy_BGT[0, 0], [-2.0, 0.0])


def test_missing_arrays_are_named():
    ctx = one_row([-1.0])
    with pytest.raises(ValueError, match="ref_logprob"):
        regularizers.kl_penalty(ctx, (), coef=1.0, estimator=regularizers.k1)
    with pytest.raises(ValueError, match="token_entropy"):
        regularizers.entropy_bonus(ctx, (), coef=1.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
