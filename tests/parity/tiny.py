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
}


def make(name):
    """transformers' model with weights that float16 holds, biases and norms too."""
    import torch
    import transformers

    family, kwargs = CASES[name]
    kinds = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    }
    config, kind = kinds[family]
    model = kind(config(**{**SIZES, **kwargs})).float().eval()
    generator = torch.Generator().manual_seed(len(name))
    with torch.no_grad():
        for key, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            scale, shift = (0.2, 1.0) if "norm" in key else (0.15, 0.0)
            value.copy_((shift + scale * noise).half().float())
    return model


def tokens(rows=2, length=40):
    return np.random.default_rng(7).integers(0, SIZES["vocab_size"], (rows, length))
