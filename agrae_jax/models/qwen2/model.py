"""Qwen2 is the decoder with biases on queries, keys and values (its config says so)."""

from agrae_jax.models.decoder import Decoder as Qwen2

__all__ = ["Qwen2"]
