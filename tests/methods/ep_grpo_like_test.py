"""EP-GRPO-like: the gate, progress and its buckets by hand (methods.md 11)."""

import jax
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import credit
from tests.rl.contexts import advantage_input, f32, token_context

ENTROPY = [[[2, 0.1, 1], [0.2, 1.5, 7]]]
MASK = [[[1, 1, 1], [1, 1, 0]]]


def context(correct=((1, 0),), gap=0.0, entropy=ENTROPY, mask=MASK):
    gap = gap * np.ones(np.shape(mask))
    return token_context(
        np.zeros(np.shape(mask)),
        old=gap,
        ref=np.zeros(np.shape(mask)),
        old_entropy=entropy,
        mask=mask,
        inputs=advantage_input(correct),
    )


def run(advantage, ctx, **kwargs):
    return methods.resolve("ep_grpo_like", **kwargs).credit(f32(advantage), ctx)


def test_gate_literal():
    found = run([[1.0, -1.0]], context(), weight=0.0)
    expected = [[[0.804924, 0.236485, 0.513625], [-0.261968, -0.676107, 0.0]]]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    doubled = run([[1.0, -1.0]], context(), weight=0.0, gate_scale=2.0)
    np.testing.assert_allclose(doubled, 2 * found, rtol=1e-6)


def test_progress_and_buckets_literal():
    mask = f32(MASK)
    tau = credit.progress(f32(ENTROPY) * mask, mask)
    np.testing.assert_allclose(tau[0, 0], [0.645161, 0.677419, 1.0], atol=1e-6)
    np.testing.assert_allclose(tau[0, 1, :2], [0.117647, 1.0], atol=1e-6)
    bucket = np.minimum(np.floor(10 * np.asarray(tau)), 9)
    np.testing.assert_array_equal(bucket[0, 0], [6, 6, 9])
    np.testing.assert_array_equal(bucket[0, 1, :2], [1, 9])


def test_no_entropy_at_all_counts_tokens_and_gates_by_half():
    tau = credit.progress(f32([[[0, 0, 0, 0]]]), f32([[[1, 1, 1, 0]]]))
    np.testing.assert_allclose(tau[0, 0, :3], [1 / 3, 2 / 3, 1], rtol=1e-6)
    found = run([[1.0, -1.0]], context(entropy=np.zeros((1, 2, 3))), weight=0.0)
    np.testing.assert_allclose(found, [[[0.5] * 3, [-0.5, -0.5, 0]]])


def test_progress_is_standardised_in_its_bucket():
    # Buckets 6: tokens 0, 1 of row 0; 9: the last ones of both; 1: one token alone.
    gap = [[[0.1, 0.3, 0.2], [5.0, 0.4, 9.0]]]
    ctx = context(gap=np.array(gap))
    with_it = run([[1.0, -1.0]], ctx, weight=1.0)
    gate = run([[1.0, -1.0]], ctx, weight=0.0)
    # Row 1 has sign -1: bucket 9 holds .2 and -.4, so 1 and -1.
    expected = [[[-1, 1, 1], [0, -1, 0]]]
    np.testing.assert_allclose(with_it - gate, expected, atol=2e-5)


@pytest.mark.parametrize("right, sign", [(1.0, 1.0), (0.0, -1.0)])
def test_a_group_of_equal_rewards_still_learns_progress(right, sign):
    ctx = context(((right, right),), gap=np.array([[[0.1, 0.3, 0.2], [0, 0.4, 0]]]))
    found = run([[0.0, 0.0]], ctx, weight=1.0)
    expected = sign * np.array([[[-1, 1, -1], [0, 1, 0]]])
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_padding_and_gradient():
    assert (np.asarray(run([[1.0, -1.0]], context(gap=1.0)))[0, 1, 2] == 0).all()
    with pytest.raises(ValueError, match="old_entropy"):
        run([[1.0]], token_context([[[-1.0]]]))
    jitted = jax.jit(lambda c: run([[1.0, -1.0]], c))(context())
    assert np.isfinite(jitted).all()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
