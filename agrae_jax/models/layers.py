"""Layers that every family shares: linear, norm, rotary angles, gated MLP."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from agrae_jax.models.decoder_config import Rope


def precision(dtype: Any) -> jax.lax.Precision | None:
    """float32 matmuls stay float32 on every backend (a TPU would round to bfloat16)."""
    return jax.lax.Precision.HIGHEST if dtype == jnp.float32 else None


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def contract(x: Array, kernel: Array, axes: int) -> Array:
    """The last `axes` axes of x against the first of the kernel.

    Its gradient is the ordinary one, written so that neither operand is transposed:
    the derived form asks for a transposed copy of the output's gradient, an eighth of
    the time of an update on CPU.
    """
    inner = range(x.ndim - axes, x.ndim)
    return _dot(x, kernel, inner, range(axes))


def _dot(a: Array, b: Array, of_a: range, of_b: range) -> Array:
    dimensions = ((of_a, of_b), ((), ()))
    return jax.lax.dot_general(a, b, dimensions, precision=precision(a.dtype))


def _contract_forward(x: Array, kernel: Array, axes: int) -> tuple[Array, Any]:
    return contract(x, kernel, axes), (x, kernel)


def _contract_backward(axes: int, saved: Any, grad: Array) -> tuple[Array, Array]:
    x, kernel = saved
    rows = range(x.ndim - axes)
    outputs = range(grad.ndim - kernel.ndim + axes, grad.ndim)
    return (
        _dot(grad, kernel, outputs, range(axes, kernel.ndim)),
        _dot(x, grad, rows, rows),
    )


contract.defvjp(_contract_forward, _contract_backward)


class Linear(nnx.Module):
    """y = x W (+ b); W is [*inputs, *outputs] and contracts the last axes of x."""

    def __init__(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        dtype: Any,
        param_dtype: Any,
        rngs: nnx.Rngs,
        bias: bool = False,
    ):
        self.dtype, self.axes = dtype, len(inputs)
        scale = 1.0 / math.sqrt(math.prod(inputs))
        noise = jax.random.normal(rngs.params(), (*inputs, *outputs), param_dtype)
        self.kernel = nnx.Param(noise * jnp.asarray(scale, param_dtype))
        self.bias = nnx.Param(jnp.zeros(tuple(outputs), param_dtype)) if bias else None

    def __call__(self, x: Array) -> Array:
        kernel = self.kernel[...].astype(self.dtype)
        y: Array = contract(x.astype(self.dtype), kernel, self.axes)
        return y if self.bias is None else y + self.bias[...].astype(self.dtype)


class RMSNorm(nnx.Module):
    """y = scale * x / sqrt(mean(x^2) + eps), the mean in float32 (arXiv:1910.07467)."""

    def __init__(self, width: int, eps: float, *, dtype: Any, param_dtype: Any):
        self.eps, self.dtype = eps, dtype
        self.scale = nnx.Param(jnp.ones((width,), param_dtype))

    def __call__(self, x: Array) -> Array:
        x = x.astype(jnp.float32)
        x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + self.eps)
        return x.astype(self.dtype) * self.scale[...].astype(self.dtype)


class GatedMLP(nnx.Module):
    """y = (silu(x W_gate) * x W_up) W_down (arXiv:2002.05202)."""

    def __init__(self, width: int, hidden: int, **options: Any):
        self.gate = Linear([width], [hidden], **options)
        self.up = Linear([width], [hidden], **options)
        self.down = Linear([hidden], [width], **options)

    def __call__(self, x: Array) -> Array:
        return self.down(jax.nn.silu(self.gate(x)) * self.up(x))


def rope_frequencies(rope: Rope, head_dim: int) -> np.ndarray:
    """Angle per token of each pair of dimensions, [head_dim / 2], radians.

    theta^(-2i/d) (arXiv:2104.09864); "linear" divides by the factor; "llama3" divides
    waves longer than original / low, keeps those shorter than original / high, and
    blends between. float32 step by step, as the checkpoints were trained.
    """
    exponent = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    frequency = np.float32(1.0) / np.float32(rope.theta) ** exponent
    if rope.kind == "default":
        return frequency
    slow = frequency / np.float32(rope.factor)
    if rope.kind == "linear":
        return slow
    waves = rope.original_positions * frequency / np.float32(2 * math.pi)
    low, high = rope.low_freq_factor, rope.high_freq_factor
    blend = np.clip((waves - low) / (high - low), 0.0, 1.0).astype(np.float32)
    return (1 - blend) * slow + blend * frequency


def rope_angles(position: Array, frequencies: np.ndarray) -> tuple[Array, Array]:
    """(cos, sin) of every position, [*position.shape, head_dim / 2], float32."""
    angle = position[..., None].astype(jnp.float32) * frequencies
    return jnp.cos(angle), jnp.sin(angle)


def rotate(x: Array, cos: Array, sin: Array, scale: float = 1.0) -> Array:
    """Rotates the pairs (x_i, x_{i + d/2}) of [..., heads, d], in float32, and scales.

    `cos` and `sin` are [..., d / 2], shared by the heads.
    """
    cos, sin = cos[..., None, :] * scale, sin[..., None, :] * scale
    left, right = jnp.split(x.astype(jnp.float32), 2, -1)
    turned = [left * cos - right * sin, right * cos + left * sin]
    return jnp.concatenate(turned, -1).astype(x.dtype)
