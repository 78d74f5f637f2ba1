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

# Sizes and the largest that any model can be meant to have: what is beyond is a slip,
# and would be met as a lack of memory after minutes.
_SIZES = {
    "vocab_size": 10**8,
    "hidden_size": 10**6,
    "intermediate_size": 10**7,
    "num_hidden_layers": 10**4,
    "num_attention_heads": 10**5,
    "num_key_value_heads": 10**5,
    "head_dim": 10**5,
    "max_position_embeddings": 10**9,
}


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
    left = {name: value for name, value in fields.items() if value is not None}
    for name, most in _SIZES.items():
        size = left.get(name, 1)
        if type(size) is not int or not 1 <= size <= most:
            raise _wrong(name, size, f"a whole number from 1 to {most}")
    for name in ("rms_norm_eps", "rope_theta"):
        if name in left:
            _positive(name, left[name])
    if not isinstance(left.get("tie_word_embeddings", tied), bool | None):
        raise _wrong(
            "tie_word_embeddings", left["tie_word_embeddings"], "true or false"
        )
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
    if fields.get("head_dim"):
        if config.head_dim % 2:
            raise _wrong("head_dim", config.head_dim, "even: rotary angles turn pairs")
    elif not config.head_dim or config.head_dim % 2 or width % heads:
        raise UserError(
            f"model config: hidden_size = {width} over num_attention_heads = {heads}"
            " must be an even number: rotary embeddings turn pairs"
        )
    if config.heads % config.kv_heads:
        raise UserError(
            f"model config: num_key_value_heads = {config.kv_heads} does not divide"
            f" num_attention_heads = {config.heads}"
        )
    layer_types = left.pop("layer_types", [])
    if not isinstance(layer_types, list) or {*map(str, layer_types)} - {
        "full_attention"
    }:
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
    scaling: dict[str, Any] = {}
    for name in ("rope_scaling", "rope_parameters"):
        given = left.pop(name, None) or {}
        if not isinstance(given, Mapping):
            raise _wrong(name, given, "an object of fields")
        scaling |= given
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
    if not isinstance(kind, str) or kind not in names:
        raise UserError(f"model config: rope_type = {kind!r} is not supported")
    wanted = names[kind]
    if kind == "default" and scaling.get("factor") == 1.0:
        scaling.pop("factor")
    if scaling.get("partial_rotary_factor") == 1.0:
        scaling.pop("partial_rotary_factor")
    if set(scaling) != set(wanted):
        odd = sorted(set(scaling) ^ set(wanted))
        raise UserError(f"model config: rope_type {kind!r} with fields {odd} amiss")
    for name, value in {**scaling, "rope_theta": theta}.items():
        if name != "rope_theta" or value is not None:
            _positive(name, value)
    if kind == "llama3" and scaling["low_freq_factor"] >= scaling["high_freq_factor"]:
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        raise _wrong("low_freq_factor", low, f"below high_freq_factor = {high}")
    return Rope(
        theta=10000.0 if theta is None else theta,
        kind=kind,
        **{wanted[name]: value for name, value in scaling.items()},
    )


def _positive(name: str, value: Any) -> None:
    """Raises `UserError` unless `value` is a number that float32 holds, above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, value, "a number > 0")
    if not 0 < value < 1e30:
        raise _wrong(name, value, "a number > 0")


def _wrong(name: str, value: Any, must: str) -> UserError:
    return UserError(f"model config: {name} = {repr(value)[:40]} must be {must}")
