"""Folders of safetensors: only slices are read, in bounded memory, and written."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import models, sharding
from agrae_jax.errors import UserError
from agrae_jax.models import policy, safetensors_folder, weights
from agrae_jax.models.families import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
SIZES = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
}


def save(folder, family, sizes, dtype="float32", file_bytes=1 << 30):
    """A random model's folder: (policy, parameters, names of its files)."""
    built = models.random(family, sizes)
    params = jax.tree.map(np.asarray, jax.jit(built.init)(jax.random.key(0)))
    fields = {"model_type": family, **models.TINY, **sizes}
    (folder / "config.json").write_text(json.dumps(fields))
    files = models.save_params(
        folder, built, params, dtype=dtype, file_bytes=file_bytes
    )
    return built, params, files


def shardings_of(built, mesh, rules="train"):
    shapes = policy.param_shapes(built)
    table = built.param_axes
    return sharding.named_shardings(shapes, table, built.rules[rules], mesh)


@pytest.mark.parametrize("rules", ["train", "sample"])
@pytest.mark.parametrize("mesh", [(8, 1), (4, 2), (2, 4)])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_every_device_gets_its_slices_exactly(tmp_path, family, mesh, rules):
    built, params, _ = save(tmp_path, family, SIZES, file_bytes=100_000)
    wanted = shardings_of(built, sharding.make_mesh(*mesh), rules)
    loaded = models.load_params(str(tmp_path), built, wanted)
    jax.tree.map(np.testing.assert_array_equal, loaded, params)
    for leaf, expected in zip(
        jax.tree.leaves(loaded), jax.tree.leaves(wanted), strict=True
    ):
        assert leaf.sharding == expected


class Counting(safetensors_folder.Folder):
    """Counts the numbers that are read."""

    numbers = 0

    def read(self, name, index):
        part = super().read(name, index)
        self.numbers += part.size
        return part


def test_a_host_reads_what_it_owns_and_no_more(tmp_path):
    built, params, _ = save(tmp_path, "qwen2", SIZES)
    shapes, mapping = policy.param_shapes(built), FAMILIES["qwen2"].mapping
    total = sum(x.size for x in jax.tree.leaves(params))
    whole = Counting(tmp_path)
    weights.to_params(mapping, whole, shapes)
    assert whole.numbers == total
    # eight devices: together everything once, but for what each of them holds whole
    split = Counting(tmp_path)
    mesh = sharding.make_mesh(8, 1)
    weights.to_params(mapping, split, shapes, shardings_of(built, mesh))
    assert split.numbers == total
    # the slices of one of eight hosts
    one = Counting(tmp_path)
    for path, name, inputs in mapping:
        target: Any = shapes
        place: Any = shardings_of(built, mesh)
        for key in path.split("/"):
            target, place = target[key], place[key]
        index = place.devices_indices_map(target.shape)[jax.devices()[3]]
        bounds = tuple(
            s.indices(n)[:2] for s, n in zip(index, target.shape, strict=True)
        )
        weights._part(one, (path, name, inputs), target, bounds)
    norms_and_biases = 5 * 64 + 2 * (64 + 2 * 32)
    assert one.numbers == (total - norms_and_biases) // 8 + norms_and_biases


def test_loading_needs_one_file_and_the_parameters(tmp_path):
    """Peak growth within 1.2 x the largest file plus what the process is to hold."""
    sizes = {
        "hidden_size": 512,
        "intermediate_size": 1408,
        "num_hidden_layers": 16,
        "vocab_size": 16384,
        "tie_word_embeddings": True,
    }
    _, _, files = save(tmp_path, "llama", sizes, "bfloat16", file_bytes=24_000_000)
    assert len(files) >= 5
    run = subprocess.run(
        [sys.executable, "-m", "tests.models.load_memory", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout.splitlines()[-1])
    largest = max((tmp_path / file).stat().st_size for file in files)
    assert found["params"] > 4 * largest
    assert found["grown"] <= 1.2 * largest + found["params"], found


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_is_written_is_read_again_bit_for_bit(tmp_path, dtype):
    built, params, files = save(tmp_path, "qwen2", SIZES, dtype, file_bytes=60_000)
    assert len(files) > 2 and (tmp_path / safetensors_folder.INDEX).exists()
    stored = jax.tree.map(lambda x: x.astype(dtype).astype(np.float32), params)
    found = models.load_params(str(tmp_path), built)
    jax.tree.map(np.testing.assert_array_equal, found, stored)
    again = tmp_path / "again"
    again.mkdir()
    models.save_params(again, built, found, dtype=dtype, file_bytes=60_000)
    for file in files:
        assert (again / file).read_bytes() == (tmp_path / file).read_bytes()


def test_a_tensor_of_another_size_is_found_before_anything_is_read(tmp_path):
    built, params, _ = save(tmp_path, "llama", SIZES)
    wider = models.random("llama", {**SIZES, "intermediate_size": 192})
    source = Counting(tmp_path)
    with pytest.raises(UserError, match=r"gate_proj.weight has shape \(160, 64\)"):
        weights.to_params(FAMILIES["llama"].mapping, source, policy.param_shapes(wider))
    assert source.numbers == 0


def test_a_broken_index_raises_with_its_name(tmp_path):
    built, _, _ = save(tmp_path, "llama", SIZES, file_bytes=60_000)
    (tmp_path / safetensors_folder.INDEX).write_text("{")
    with pytest.raises(UserError, match="index.json is not an index of tensors"):
        models.load_params(str(tmp_path), built)


def test_files_hold_at_most_their_share(tmp_path):
    _, params, files = save(tmp_path, "llama", SIZES, file_bytes=80_000)
    assert files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    for file in files:
        # one tensor may be larger than a file; the embedding is 131 kB
        assert (tmp_path / file).stat().st_size < 131_072 + 10_000
    assert jnp.isfinite(params["embedding"]).all()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
