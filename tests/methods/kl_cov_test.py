"""KL-Cov: which tokens are held, and by what (methods.md 9.3)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.rl import surrogates
from tests.methods.running import loss_of
from tests.rl.contexts import f32, one_row, token_context

# The mean is -2; the last token of each is padding.
LOGPROB = [[[0.0, -1.0, -2.0, 9.0], [-2.0, -3.0, -4.0, 9.0]]]
ADVANTAGE = [[[1.0, 1.0, 1.0, 5.0], [1.0, 1.0, 1.0, 5.0]]]
MASK = [[[1, 1, 1, 0], [1, 1, 1, 0]]]


@pytest.mark.parametrize(
    "share, held",
    [
        (2e-4, [[1, 0, 0, 0], [0, 0, 0, 1]]),
        (0.5, [[1, 1, 0, 0], [0, 0, 1, 1]]),
    ],
)
def test_the_share_of_highest_covariance_is_held(share, held):
    select = methods.resolve("kl_cov", share=share).token_select
    signs = np.array([[[1.0], [-1.0]]])
    ctx = token_context(LOGPROB, mask=MASK)
    found = select(ctx, f32(ADVANTAGE * signs))
    # (A - 0)(log pi + 2) with A = 1 and -1: 2, 1, 0 and 0, 1, 2; ties are held too.
    expected = [[held[0][:3], held[1][1:]]]
    np.testing.assert_array_equal(found[..., :3], expected)
    np.testing.assert_array_equal(found[..., 3], 0)


def test_loss_by_hand_and_no_clip_anywhere():
    ratio = np.array([[[0.5, 4.0]]])
    value, metrics = loss_of("kl_cov", np.log(ratio), [[[1.0, 1.0]]], share=0.5)
    # The second token has the higher log-prob, but A - mean A is 0 for both: a tie,
    # and both are held. -0.5 + ln 2 and -4 + ln 4, averaged.
    np.testing.assert_allclose(value, (-4.5 + np.log(2) + np.log(4)) / 2, rtol=1e-6)
    np.testing.assert_allclose(metrics["selected_fraction"], (2, 2))


def test_the_penalty_pulls_a_held_token_back_and_no_other():
    def slope(selected):
        def loss(logprob):
            ctx = one_row([0.0], old=[0.0], selected=[selected])
            ctx = ctx.__class__(**{**vars(ctx), "logprob_BGT": logprob})
            return surrogates.kl_cov(ctx, jnp.zeros((1, 1, 1)), coef=0.5)[0].sum()

        return float(jax.grad(loss)(f32([[[0.3]]]))[0, 0, 0])

    assert slope(1.0) == pytest.approx(0.5)
    assert slope(0.0) == 0.0


def test_a_selection_is_asked_for():
    with pytest.raises(ValueError, match="token_select"):
        surrogates.kl_cov(one_row([-1.0]), jnp.zeros((1, 1, 1)), coef=1.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
