"""A pre-norm transformer block."""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx
from jax import Array

from agrae_jax.models.attention import Attention
from agrae_jax.models.decoder_config import DecoderConfig
from agrae_jax.models.layers import GatedMLP, RMSNorm


class Block(nnx.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    attention_kind: type[Attention] = Attention  # a family may have its own

    def __init__(self, config: DecoderConfig, **options: Any):
        c = config
        plain = {k: v for k, v in options.items() if k != "rngs"}
        self.attention_norm = RMSNorm(c.width, c.norm_eps, **plain)
        self.attention = self.attention_kind(c, **options)
        self.mlp_norm = RMSNorm(c.width, c.norm_eps, **plain)
        self.mlp = GatedMLP(c.width, c.mlp_width, **options)

    def project(self, x: Array, rope: tuple[Array, Array]) -> tuple[Array, ...]:
        """Normed input to queries, keys and values."""
        with jax.named_scope("attention_in"):
            return self.attention.project(self.attention_norm(x), rope)

    def finish(self, x: Array, mixed: Array) -> Array:
        """Adds the attention's output, then the MLP's."""
        with jax.named_scope("attention_out"):
            x = x + self.attention.out(mixed)
        with jax.named_scope("mlp"):
            return x + self.mlp(self.mlp_norm(x))
