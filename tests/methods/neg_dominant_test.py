"""Negative-Dominant: positive advantages over beta (methods.md 5.4, 5.5, 5.11)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.methods.running import advantages_of, loss_of


def test_literal():
    found = advantages_of("neg_dominant", [[1, 0, 0, 0]])[0]
    np.testing.assert_allclose(found, [0.173205] + [-0.577350] * 3, rtol=5e-6)
    np.testing.assert_allclose(found.sum(), -1.558846, rtol=5e-6)


def test_rising_logits_are_not_rising_probabilities():
    # Ten behaviours, seven wrong ones and a right one sampled once each.
    logits = jnp.asarray([5.0] + [0.0] * 9)
    actions = jnp.asarray([0, 1, 2, 3, 4, 5, 6, 8])
    advantage = advantages_of("neg_dominant", [[0, 0, 0, 0, 0, 0, 0, 1]])
    np.testing.assert_allclose(advantage.sum(), -2.381176, rtol=5e-6)

    def objective(h):
        logprob = jax.nn.log_softmax(h)[actions][None, :, None]
        old = {"old": jax.lax.stop_gradient(logprob)}
        value, _ = loss_of("neg_dominant", logprob, advantage[..., None], arrays=old)
        return -len(actions) * value  # the token mean over one-token rows, undone

    grad = jax.grad(objective)(logits)
    np.testing.assert_allclose(grad[0], 1.867069, rtol=5e-6)
    np.testing.assert_allclose(grad[9], 0.015127, atol=1e-6)
    moved = jax.jvp(jax.nn.log_softmax, (logits,), (grad,))[1]
    np.testing.assert_allclose(
        moved[jnp.asarray([0, 9, 8])], [0.118609, -1.733333, -1.468758], rtol=5e-6
    )


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
