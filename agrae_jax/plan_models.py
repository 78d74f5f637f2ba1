"""Sizes of published models, so that a plan needs no weights at hand."""

from __future__ import annotations

from typing import Any

from agrae_jax.errors import UserError


def _sizes(*numbers: int, **fields: Any) -> dict[str, Any]:
    names = ("hidden_size", "intermediate_size", "num_hidden_layers")
    names += ("num_attention_heads", "num_key_value_heads", "vocab_size")
    return {**dict(zip(names, numbers, strict=True)), **fields}


_QWEN_7B = _sizes(3584, 18944, 28, 28, 4, 152064, tie_word_embeddings=False)

# name -> (family, fields of its published config.json)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen2.5-Math-1.5B": (
        "qwen2",
        _sizes(1536, 8960, 28, 12, 2, 151936, tie_word_embeddings=True),
    ),
    "Qwen2.5-Math-7B": ("qwen2", _QWEN_7B),
    "Qwen2.5-7B": ("qwen2", _QWEN_7B),
    "DeepSeek-R1-Distill-Qwen-7B": ("qwen2", _QWEN_7B),
    "Qwen2.5-32B": (
        "qwen2",
        _sizes(5120, 27648, 64, 40, 8, 152064, tie_word_embeddings=False),
    ),
    "Qwen2.5-72B": (
        "qwen2",
        _sizes(8192, 29568, 80, 64, 8, 152064, tie_word_embeddings=False),
    ),
    "Qwen3-4B": (
        "qwen3",
        _sizes(2560, 9728, 36, 32, 8, 151936, head_dim=128, tie_word_embeddings=True),
    ),
    "Llama-3.2-1B": (
        "llama",
        _sizes(2048, 8192, 16, 32, 8, 128256, head_dim=64, tie_word_embeddings=True),
    ),
    "Llama-3.2-3B": (
        "llama",
        _sizes(3072, 8192, 28, 24, 8, 128256, head_dim=128, tie_word_embeddings=True),
    ),
}

# The model that a config of configs/ is meant for.
MEANT = {
    "qwen7b": "Qwen2.5-Math-7B",
    "qwen7b_base": "Qwen2.5-7B",
    "qwen_math_1_5b": "Qwen2.5-Math-1.5B",
    "deepseek_r1_7b": "DeepSeek-R1-Distill-Qwen-7B",
    "qwen3_4b": "Qwen3-4B",
    "llama3b": "Llama-3.2-3B",
}


def find(name: str, config: str) -> tuple[str, dict[str, Any]]:
    """(family, fields) of a model's name, or of the one that a config is meant for."""
    name = name or MEANT.get(config, "")
    if name not in MODELS:
        given = f"--model={name} is not known" if name else "give --model=NAME"
        raise UserError(
            f"{given}; known: {', '.join(MODELS)}; or a folder with a config.json:"
            " --config.model.path=DIR"
        )
    return MODELS[name]
