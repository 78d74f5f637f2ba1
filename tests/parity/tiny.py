"""Tiny random models of transformers: what parity and golden files are made from."""

import numpy as np

SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 1000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
WIDE_THETA = {"rope_type": "default", "rope_theta": 1000000.0}
# Long rows: positions past 4096 in every scaling of the angles.
LONG = {
    "default": WIDE_THETA,
    "linear": LINEAR,
    "llama3": {**LLAMA3, "rope_theta": 500000.0, "factor": 32.0},
}
CASES = {
    "llama_tied": ("llama", {"tie_word_embeddings": True}),
    "llama_llama3_head_dim": (
        "llama",
        {"num_key_value_heads": 1, "head_dim": 16, "rope_parameters": LLAMA3},
    ),
    "llama_linear_no_groups": (
        "llama",
        {"num_key_value_heads": 4, "rope_parameters": LINEAR},
    ),
    "qwen2_tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2_untied": (
        "qwen2",
        {"tie_word_embeddings": False, "rope_parameters": WIDE_THETA},
    ),
    # 4 heads of 16 in a width of 32: head_dim is apart from the width
    "qwen3_tied": (
        "qwen3",
        {"tie_word_embeddings": True, "head_dim": 16, "rope_parameters": WIDE_THETA},
    ),
    "qwen3_untied_one_group": (
        "qwen3",
        {"tie_word_embeddings": False, "head_dim": 8, "num_key_value_heads": 1},
    ),
}


def make(name):
    """transformers' model with weights that float16 holds, biases and norms too."""
    family, kwargs = CASES[name]
    return build(family, kwargs, seed=len(name))


def make_long(kind):
    """A model whose rows may be long, with one of the scalings of `LONG`."""
    sizes = {"max_position_embeddings": 8192, "rope_parameters": LONG[kind]}
    return build("llama", sizes, seed=11)


def build(family, kwargs, *, seed):
    import torch
    import transformers

    kinds = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    }
    config, kind = kinds[family]
    model = kind(config(**{**SIZES, **kwargs})).float().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            scale, shift = (0.2, 1.0) if "norm" in key else (0.15, 0.0)
            value.copy_((shift + scale * noise).half().float())
    return model


def tokens(rows=2, length=40):
    return np.random.default_rng(7).integers(0, SIZES["vocab_size"], (rows, length))
