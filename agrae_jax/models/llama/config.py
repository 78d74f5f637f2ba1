"""Llama's fields of `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrae_jax.models.decoder_config import DecoderConfig, read_decoder_config

REQUIRED = {
    "attention_bias": False,
    "mlp_bias": False,
    "pretraining_tp": 1,
    "rope_interleaved": False,
}


def read_config(fields: Mapping[str, Any]) -> DecoderConfig:
    """Hugging Face's fields to sizes; raises `UserError` on one not understood."""
    return read_decoder_config(fields, qkv_bias=False, required=REQUIRED)
