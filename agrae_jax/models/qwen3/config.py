"""Qwen3's fields of `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrae_jax.models.decoder_config import DecoderConfig, read_decoder_config

REQUIRED = {"attention_bias": False, "use_sliding_window": False}
# Sizes of the sliding window, which is off.
HARMLESS = frozenset({"sliding_window", "max_window_layers"})
HEAD_DIM = 128  # where the file names none: it does not follow from the width


def read_config(fields: Mapping[str, Any]) -> DecoderConfig:
    """Hugging Face's fields to sizes; raises `UserError` on one not understood."""
    fields = {**fields, "head_dim": fields.get("head_dim") or HEAD_DIM}
    return read_decoder_config(
        fields, qkv_bias=False, required=REQUIRED, harmless=HARMLESS
    )
