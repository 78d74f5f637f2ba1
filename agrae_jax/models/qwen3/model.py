"""Qwen3 is the decoder with a norm on every head of its queries and keys."""

from __future__ import annotations

from typing import Any

from jax import Array

from agrae_jax.models.attention import Attention
from agrae_jax.models.block import Block
from agrae_jax.models.decoder import Decoder
from agrae_jax.models.decoder_config import DecoderConfig
from agrae_jax.models.layers import RMSNorm


class NormedAttention(Attention):
    """Queries and keys are normed, head by head, before they are rotated."""

    def __init__(self, config: DecoderConfig, **options: Any):
        super().__init__(config, **options)
        plain = {k: v for k, v in options.items() if k != "rngs"}
        self.query_norm = RMSNorm(config.head_dim, config.norm_eps, **plain)
        self.key_norm = RMSNorm(config.head_dim, config.norm_eps, **plain)

    def heads(self, x: Array) -> tuple[Array, Array, Array]:
        """Queries, keys and values [.., heads, D], before rotation."""
        query, key, value = super().heads(x)
        return self.query_norm(query), self.key_norm(key), value


class Qwen3Block(Block):
    """A block with the attention above."""

    attention_kind = NormedAttention


class Qwen3(Decoder):
    """A decoder of the blocks above."""

    block_kind = Qwen3Block
