"""The 80/20 rule: which tokens train (methods.md 9.4)."""

import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from tests.methods.running import loss_of
from tests.rl.contexts import token_context

ENTROPY = np.arange(10.0).reshape(1, 2, 5)


def keep(entropy, mask=None, **kwargs):
    method = methods.resolve("high_entropy", **kwargs)
    ctx = token_context(np.zeros(np.shape(entropy)), entropy=entropy, mask=mask)
    return np.asarray(method.token_mask(ctx, ctx.mask_BGT))


def test_the_highest_fifth_is_kept():
    np.testing.assert_array_equal(keep(ENTROPY), ENTROPY >= 8)


def test_padding_takes_no_part_in_the_quantile():
    entropy = np.concatenate([ENTROPY, np.full((1, 2, 5), 99.0)], -1)
    mask = np.concatenate([np.ones((1, 2, 5)), np.zeros((1, 2, 5))], -1)
    found = keep(entropy, mask)
    np.testing.assert_array_equal(found[..., :5], ENTROPY >= 8)
    np.testing.assert_array_equal(found[..., 5:], 0.0)


def test_the_whole_share_keeps_all():
    np.testing.assert_array_equal(keep(ENTROPY, share=1.0), 1.0)


def test_the_denominator_stays():
    value, _ = loss_of(
        "high_entropy", np.zeros((1, 2, 5)), 1.0, arrays={"entropy": ENTROPY}
    )
    np.testing.assert_allclose(value, -0.2, rtol=1e-6)


def test_share_is_a_share():
    with pytest.raises(UserError, match="share = 0.0"):
        methods.resolve("high_entropy", share=0.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
