"""Layers with literal numbers."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from agrae_jax.models.decoder_config import Rope
from agrae_jax.models.layers import (
    Linear,
    RMSNorm,
    rope_angles,
    rope_frequencies,
    rotate,
)

OPTIONS = {"dtype": jnp.float32, "param_dtype": jnp.float32}


def test_rms_norm_has_a_float32_mean_and_a_scale():
    norm = RMSNorm(2, 0.5, **OPTIONS)
    norm.scale[...] = jnp.array([2.0, 3.0])
    # mean of squares 12.5 + 0.5 = 13
    found = norm(jnp.array([3.0, 4.0]))
    np.testing.assert_allclose(found, [1.6641006, 3.3282012], rtol=1e-6)


def test_linear_contracts_all_its_input_axes_and_adds_the_bias():
    linear = Linear([2, 2], [3], bias=True, rngs=nnx.Rngs(0), **OPTIONS)
    linear.kernel[...] = jnp.arange(12.0).reshape(2, 2, 3)
    linear.bias[...] = jnp.array([0.5, 0.0, -0.5])
    found = linear(jnp.array([[[1.0, 0.0], [0.0, 2.0]]]))
    np.testing.assert_array_equal(found, [[18.5, 21.0, 23.5]])


def test_default_rope_halves_by_the_base():
    # head_dim 4, theta 100: frequencies 1 and 100^(-1/2)
    np.testing.assert_allclose(rope_frequencies(Rope(theta=100.0), 4), [1.0, 0.1])


def test_linear_rope_divides_every_frequency():
    rope = Rope(theta=100.0, kind="linear", factor=4.0)
    np.testing.assert_allclose(rope_frequencies(rope, 4), [0.25, 0.025])


def test_llama3_rope_keeps_short_waves_scales_long_ones_and_blends_between():
    # theta 10^4, head_dim 8: frequencies 1, .1, .01, .001; over 628 tokens they turn
    # 99.95, 9.995, .9995, .09995 times; low 1, high 19 (so 9.995 is half way)
    rope = Rope(10000.0, "llama3", 8.0, 1.0, 19.0, 628)
    found = rope_frequencies(rope, 8)
    share = (628 * 0.1 / (2 * np.pi) - 1) / 18
    between = share * 0.1 + (1 - share) * 0.1 / 8
    np.testing.assert_allclose(found, [1.0, between, 0.00125, 0.000125], rtol=1e-5)
    assert 0.4 < share < 0.6


def test_rotation_turns_pairs_half_a_head_apart():
    cos, sin = rope_angles(jnp.array([0, 1]), np.array([np.pi / 2, 0.0], np.float32))
    x = jnp.array([[[1.0, 2.0, 3.0, 4.0]], [[1.0, 2.0, 3.0, 4.0]]])  # [2, 1 head, 4]
    found = rotate(x, cos, sin, scale=2.0)
    np.testing.assert_allclose(found[0, 0], [2.0, 4.0, 6.0, 8.0], atol=1e-6)
    # (1, 3) turned by a right angle is (-3, 1); (2, 4) stays
    np.testing.assert_allclose(found[1, 0], [-6.0, 4.0, 2.0, 8.0], atol=1e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
