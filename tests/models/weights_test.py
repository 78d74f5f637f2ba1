"""Folders, state dicts and parameters: loaded exactly, or an error with the name."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.flax import save_file

from agrae_jax import models
from agrae_jax.errors import UserError
from agrae_jax.models import families, policy, weights

FIELDS = {
    "model_type": "qwen2",
    "vocab_size": 32,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "eos_token_id": 3,
    "bos_token_id": 1,
    "tie_word_embeddings": False,
}


@pytest.fixture(scope="module")
def state():
    """Random tensors under the names and shapes that transformers writes."""
    shapes = {
        "model.embed_tokens.weight": (32, 8),
        "model.norm.weight": (8,),
        "lm_head.weight": (32, 8),
    }
    for i in range(2):
        for name, shape in {
            "input_layernorm.weight": (8,),
            "self_attn.q_proj.weight": (8, 8),
            "self_attn.q_proj.bias": (8,),
            "self_attn.k_proj.weight": (4, 8),
            "self_attn.k_proj.bias": (4,),
            "self_attn.v_proj.weight": (4, 8),
            "self_attn.v_proj.bias": (4,),
            "self_attn.o_proj.weight": (8, 8),
            "post_attention_layernorm.weight": (8,),
            "mlp.gate_proj.weight": (12, 8),
            "mlp.up_proj.weight": (12, 8),
            "mlp.down_proj.weight": (8, 12),
        }.items():
            shapes[f"model.layers.{i}.{name}"] = shape
    rng = np.random.default_rng(0)
    return {k: rng.normal(size=s).astype(np.float32) for k, s in shapes.items()}


def write(folder, state, generation=None, **changes):
    (folder / "config.json").write_text(json.dumps({**FIELDS, **changes}))
    save_file(
        {k: jnp.asarray(v) for k, v in state.items()}, folder / "model.safetensors"
    )
    if generation:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    return models.from_pretrained(str(folder))


def test_a_folder_is_loaded_and_given_back_bit_equal(state, tmp_path):
    _, params, _ = write(tmp_path, state)
    np.testing.assert_array_equal(
        params["layers"]["attention"]["query"]["kernel"][1, :, 1, 2],
        state["model.layers.1.self_attn.q_proj.weight"][1 * 4 + 2, :],
    )
    np.testing.assert_array_equal(
        params["layers"]["attention"]["out"]["kernel"][0, 1, 2, :],
        state["model.layers.0.self_attn.o_proj.weight"][:, 1 * 4 + 2],
    )
    again = dict(weights.to_tensors(families.FAMILIES["qwen2"].mapping, params))
    assert set(again) == set(state)
    for name, value in state.items():
        np.testing.assert_array_equal(again[name], value)


def test_a_sharded_index_gives_the_same(state, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir(), parts.mkdir()
    _, wanted, _ = write(whole, state)
    names = sorted(state)
    where = {n: f"model-{i % 2}.safetensors" for i, n in enumerate(names)}
    for file in set(where.values()):
        here = {n: jnp.asarray(state[n]) for n in names if where[n] == file}
        save_file(here, parts / file)
    (parts / "config.json").write_text(json.dumps(FIELDS))
    index = {"metadata": {}, "weight_map": where}
    (parts / "model.safetensors.index.json").write_text(json.dumps(index))
    _, found, _ = models.from_pretrained(str(parts))
    jax.tree.map(np.testing.assert_array_equal, found, wanted)
    (parts / "model-1.safetensors").unlink()
    with pytest.raises(UserError, match="model-1.safetensors does not exist"):
        models.from_pretrained(str(parts))


def test_bfloat16_files_load_exactly_into_float32(state, tmp_path):
    short = {k: jnp.asarray(v, jnp.bfloat16) for k, v in state.items()}
    _, params, _ = write(tmp_path, short)
    assert params["embedding"].dtype == np.float32
    wanted = np.asarray(short["model.embed_tokens.weight"].astype(jnp.float32))
    np.testing.assert_array_equal(params["embedding"], wanted)


def test_facts_hold_every_end_token(state, tmp_path):
    _, _, facts = write(tmp_path, state)
    assert (facts["eos_ids"], facts["bos_id"], facts["pad_id"]) == ({3}, 1, None)
    more = {"eos_token_id": [5, 3], "pad_token_id": 9}
    _, _, facts = write(tmp_path, state, generation=more)
    assert (facts["eos_ids"], facts["bos_id"], facts["pad_id"]) == ({3, 5}, 1, 9)


def test_tied_heads_ignore_a_stored_copy(state, tmp_path):
    _, params, _ = write(tmp_path, state, tie_word_embeddings=True)
    assert "head" not in params


@pytest.mark.parametrize(
    "change, words",
    [
        ({"model.norm.weight": None}, "model.norm.weight is missing"),
        ({"model.norm.bias": np.ones(8, np.float32)}, "model.norm.bias has no place"),
        (
            {"model.layers.1.mlp.up_proj.weight": np.ones((8, 12), np.float32)},
            r"up_proj.weight has shape \(8, 12\), the config asks for \(12, 8\)",
        ),
        (
            {"model.layers.1.mlp.up_proj.weight": np.full((12, 8), np.nan, "f")},
            "1.mlp.up_proj.weight holds what is no finite number",
        ),
        ({"model.norm.weight": np.ones(8, np.int32)}, "norm.weight is of dtype I32"),
    ],
)
def test_a_tensor_amiss_raises_with_its_name(state, tmp_path, change, words):
    changed = {k: v for k, v in {**state, **change}.items() if v is not None}
    with pytest.raises(UserError, match=words):
        write(tmp_path, changed)


def test_missing_and_damaged_files_raise_with_their_names(state, tmp_path):
    with pytest.raises(UserError, match="model.path: .*nosuch does not exist"):
        models.from_pretrained(str(tmp_path / "nosuch"))
    with pytest.raises(UserError, match="config.json does not exist"):
        models.from_pretrained(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(FIELDS))
    with pytest.raises(UserError, match="model.safetensors does not exist"):
        models.from_pretrained(str(tmp_path))
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(UserError, match="model.safetensors is not a file"):
        models.from_pretrained(str(tmp_path))
    (tmp_path / "model.safetensors").rmdir()
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 64)
    with pytest.raises(UserError, match="model.safetensors is damaged"):
        models.from_pretrained(str(tmp_path))
    index = tmp_path / "model.safetensors.index.json"
    for listed in (None, [], {}, ["a"], {"a": 1}, {"a": None}, {"a": "../b"}):
        index.write_text(json.dumps({"weight_map": listed}))
        with pytest.raises(UserError, match="index.json is not an index of tensors"):
            models.from_pretrained(str(tmp_path))
    for text, words in (
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[]", "hold"),
    ):
        (tmp_path / "config.json").write_bytes(text)
        with pytest.raises(UserError, match=f"config.json .*{words}"):
            models.from_pretrained(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe is neither a file nor a folder"):
        models.from_pretrained(str(tmp_path / "pipe"))


def test_parameters_of_another_tree_shape_or_dtype_raise_with_the_path():
    built = models.random("qwen2", {})
    params = policy.param_shapes(built)
    policy.check_params(built, params)
    mlp = params["layers"]["mlp"]
    swapped = {**mlp, "gates": mlp["gate"]}
    del swapped["gate"]
    turned = {**mlp, "up": mlp["down"]}
    for changed, words in [
        ({**params, "layers": {**params["layers"], "mlp": swapped}}, "mlp/gate/kernel"),
        ({**params, "layers": {**params["layers"], "mlp": turned}}, "mlp/up/kernel"),
        (jax.eval_shape(lambda p: jax.tree.map(jnp.bfloat16, p), params), "embedding"),
    ]:
        with pytest.raises(UserError, match=words):
            policy.check_params(built, changed)


def test_an_unknown_dtype_raises():
    with pytest.raises(UserError, match="model.dtype: 'fp32' is not one of float32"):
        models.random("llama", {}, dtype="fp32")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
