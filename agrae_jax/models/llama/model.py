"""Llama is the decoder as it stands."""

from agrae_jax.models.decoder import Decoder as Llama

__all__ = ["Llama"]
