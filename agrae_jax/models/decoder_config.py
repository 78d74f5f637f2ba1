"""The numbers of a pre-norm decoder, read strictly from Hugging Face's fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from agrae_jax.errors import UserError

# Fields that say nothing about the maths of a forward pass at inference.
HARMLESS = frozenset(
    """architectures auto_map bos_token_id eos_token_id pad_token_id dtype torch_dtype
    initializer_range model_type transformers_version use_cache max_position_embeddings
    is_llama_config transformers.js_config task_specific_params id2label label2id
    unsloth_version""".split()
)

_SIZES = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
)


@dataclasses.dataclass(frozen=True)
class Rope:
    """Rotary embedding: base, and a scaling of its frequencies.

    kind "default" has no scaling, "linear" uses `factor`, "llama3" all fields.
    """

    theta: float = 10000.0
    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_positions: int = 8192  # tokens


@dataclasses.dataclass(frozen=True)
class DecoderConfig:
    """Sizes and switches of a pre-norm decoder with gated MLP and grouped heads."""

    vocab_size: int
    width: int
    mlp_width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    norm_eps: float
    rope: Rope
    tied: bool  # the head is the embedding, transposed
    qkv_bias: bool
    max_positions: int  # trained context, tokens


def read_decoder_config(
    fields: Mapping[str, Any],
    *,
    qkv_bias: bool,
    required: Mapping[str, Any],
    harmless: frozenset[str] = frozenset(),
    tied: bool = False,
) -> DecoderConfig:
    """`fields` of a `config.json` as a `DecoderConfig`.

    `required` are fields of the family that must have this value if present, `harmless`
    ones that do not matter, `tied` what a missing `tie_word_embeddings` means. A field
    that is not understood and not off (None or False) raises `UserError`.
    """
    left = dict(fields)
    for name in _SIZES:
        size = left.get(name)
        if size is not None and (type(size) is not int or size < 1):
            raise UserError(f"model config: {name} = {size!r} must be a number >= 1")
    try:
        heads = left.pop("num_attention_heads")
        width = left.pop("hidden_size")
        config = DecoderConfig(
            vocab_size=left.pop("vocab_size"),
            width=width,
            mlp_width=left.pop("intermediate_size"),
            layers=left.pop("num_hidden_layers"),
            heads=heads,
            kv_heads=left.pop("num_key_value_heads", None) or heads,
            head_dim=left.pop("head_dim", None) or width // heads,
            norm_eps=left.pop("rms_norm_eps", 1e-6),
            rope=_read_rope(left),
            tied=left.pop("tie_word_embeddings", tied),
            qkv_bias=qkv_bias,
            max_positions=left.get("max_position_embeddings", 2048),
        )
    except KeyError as error:
        raise UserError(f"model config: field {error.args[0]} is missing") from None
    if config.head_dim % 2 or (not fields.get("head_dim") and width % heads):
        raise UserError(
            f"model config: hidden_size = {width} over num_attention_heads = {heads}"
            " must be an even number: rotary embeddings turn pairs"
        )
    if config.heads % config.kv_heads:
        raise UserError(
            f"model config: num_key_value_heads = {config.kv_heads} does not divide"
            f" num_attention_heads = {config.heads}"
        )
    layer_types = set(left.pop("layer_types", None) or ())
    if layer_types - {"full_attention"}:
        raise UserError(f"model config: layer_types {layer_types} not understood")
    everywhere = {"hidden_act": "silu", "attention_dropout": 0.0}
    for name, value in {**everywhere, **required}.items():
        if left.pop(name, value) not in (value, None):
            raise UserError(
                f"model config: {name} = {fields[name]!r} is not supported,"
                f" only {value!r}"
            )
    for name, value in left.items():
        known = name in HARMLESS or name in harmless or name.startswith("_")
        if not known and value is not None and value is not False:
            raise UserError(f"model config: field {name} = {value!r} is not understood")
    return config


def _read_rope(left: dict[str, Any]) -> Rope:
    """Rope fields of transformers 5 (`rope_parameters`) or earlier (two fields)."""
    theta = left.pop("rope_theta", None)
    scaling = dict(left.pop("rope_scaling", None) or {})
    scaling |= left.pop("rope_parameters", None) or {}
    theta = scaling.pop("rope_theta", theta)
    kind = scaling.pop("rope_type", None) or scaling.get("type") or "default"
    scaling.pop("type", None)
    names = {
        "default": {},
        "linear": {"factor": "factor"},
        "llama3": {
            "factor": "factor",
            "low_freq_factor": "low_freq_factor",
            "high_freq_factor": "high_freq_factor",
            "original_max_position_embeddings": "original_positions",
        },
    }
    if kind not in names:
        raise UserError(f"model config: rope_type = {kind!r} is not supported")
    wanted = names[kind]
    if kind == "default" and scaling.get("factor") == 1.0:
        scaling.pop("factor")
    if scaling.get("partial_rotary_factor") == 1.0:
        scaling.pop("partial_rotary_factor")
    if set(scaling) != set(wanted):
        odd = sorted(set(scaling) ^ set(wanted))
        raise UserError(f"model config: rope_type {kind!r} with fields {odd} amiss")
    return Rope(
        theta=10000.0 if theta is None else theta,
        kind=kind,
        **{wanted[name]: value for name, value in scaling.items()},
    )
