"""Clip-Cov: a few tokens of high covariance do not train (methods.md 9.3)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import token_masks
from tests.rl.contexts import f32, token_context

RNG = np.random.default_rng(0)
LOGPROB = -np.abs(RNG.normal(2, 1.5, (4, 8, 16)))
ADVANTAGE = RNG.normal(0, 1, (4, 8, 1)) * np.ones((4, 8, 16))


def test_covariance_by_hand():
    ctx = token_context([[[-1.0, -3.0, 9.0]]], mask=[[[1, 1, 0]]])
    cov = token_masks.covariance(ctx, f32([[[2.0, 0.0, 0.0]]]))
    np.testing.assert_allclose(cov[0, 0, :2], [1.0, 1.0])


def drop(logprob=LOGPROB, advantage=ADVANTAGE, old=None, **kwargs):
    method = methods.resolve("clip_cov", **kwargs)
    ctx = token_context(logprob, old=old)
    return np.asarray(method.token_mask(ctx, f32(advantage))) == 0


def candidates():
    cov = (ADVANTAGE - ADVANTAGE.mean()) * (LOGPROB - LOGPROB.mean())
    return (cov > 1) & (cov < 5)


def test_the_share_is_dropped_among_candidates():
    assert candidates().sum() > 30
    for share, count in ((2e-4, 1), (0.01, 5), (0.05, 25)):
        dropped = drop(share=share)
        assert dropped.sum() == count
        assert (candidates() | ~dropped).all()
    np.testing.assert_array_equal(drop(share=1.0), candidates())


def test_the_draw_follows_tokens_not_positions():
    order = RNG.permutation(8)
    moved = drop(LOGPROB[:, order], ADVANTAGE[:, order], share=0.05)
    np.testing.assert_array_equal(moved, drop(share=0.05)[:, order])


def test_the_draw_is_not_that_of_the_highest_covariance():
    cov = (ADVANTAGE - ADVANTAGE.mean()) * (LOGPROB - LOGPROB.mean())
    dropped = drop(share=0.05)
    top = np.sort(cov[candidates()])[-25:]
    assert 0 < np.isin(cov[dropped], top).sum() < 20


def test_tokens_already_clipped_are_not_candidates():
    old = LOGPROB - np.log(3.0)  # ratio 3, above 1 + 1
    dropped = drop(old=old, share=1.0)
    np.testing.assert_array_equal(dropped, candidates() & (ADVANTAGE < 0))


def test_nothing_to_drop():
    assert not drop(np.full((1, 2, 3), -1.0), np.ones((1, 2, 3))).any()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
