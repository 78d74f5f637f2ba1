"""Qwen2's fields of `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrae_jax.models.decoder_config import DecoderConfig, read_decoder_config

REQUIRED = {"use_sliding_window": False, "use_mrope": False}
# Sizes of the sliding window, which is off.
HARMLESS = frozenset({"sliding_window", "max_window_layers"})


def read_config(fields: Mapping[str, Any]) -> DecoderConfig:
    """Hugging Face's fields to sizes; raises `UserError` on one not understood."""
    return read_decoder_config(
        fields, qkv_bias=True, required=REQUIRED, harmless=HARMLESS
    )
