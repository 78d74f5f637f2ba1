"""The models: the only package that imports flax, safetensors and gguf."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from agrae_jax.errors import UserError
from agrae_jax.models import families, gguf, policy, safetensors_folder, weights
from agrae_jax.types import Params, Policy

__all__ = [
    "from_pretrained",
    "load_params",
    "load_policy",
    "random",
    "resolve",
    "save_params",
]

# Sizes of a random model that are not given: small enough for a test.
TINY = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def resolve(path: str) -> Path:
    """The file or folder meant by a path or by "package:NAME" (a wheel's .gguf)."""
    name = path.removeprefix("package:")
    found = gguf.package_file(name) if name != path else Path(path).expanduser()
    if not found.exists():
        raise UserError(f"model.path: {path} does not exist; set --config.model.path=")
    if not found.is_dir() and not found.is_file():  # a pipe would be waited for
        raise UserError(f"model.path: {path} is neither a file nor a folder")
    return found


def from_pretrained(path: str, **options: Any) -> tuple[Policy, Params, dict[str, Any]]:
    """`load_policy` and `load_params` of one path: policy, parameters and facts."""
    built, facts = load_policy(path, **options)
    return built, load_params(path, built), facts


def load_policy(path: str, **options: Any) -> tuple[Policy, dict[str, Any]]:
    """Policy and facts of a model on disk; no weight is read.

    `path` is a Hugging Face folder, a .gguf file or "package:NAME"; `options` are
    those of `policy.build`. Facts: eos_ids (frozenset), bos_id, pad_id (or None),
    max_positions, config (the file's fields). Raises `UserError` on anything missing
    or not understood.
    """
    found, generation = resolve(path), {}
    if found.is_dir():
        fields = _read_json(found / "config.json")
        if (found / "generation_config.json").exists():
            generation = _read_json(found / "generation_config.json")
    else:
        fields = gguf.read_config(found)
    kind = fields.get("model_type")
    config = families.find(kind).read_config(fields)

    def ids(name: str) -> list[int]:
        value = generation.get(name, fields.get(name))
        return [] if value is None else value if isinstance(value, list) else [value]

    facts = {
        # generation_config may name more end tokens than config: all of them end
        "eos_ids": frozenset(ids("eos_token_id")),
        "bos_id": next(iter(ids("bos_token_id")), None),
        "pad_id": next(iter(ids("pad_token_id")), None),
        "max_positions": config.max_positions,
        "config": fields,
    }
    return policy.build(fields["model_type"], config, **options), facts


def load_params(path: str, built: Policy, shardings: Params | None = None) -> Params:
    """Parameters of a model on disk, checked against its policy.

    With `shardings` they are global arrays, and of a folder this process reads only
    the slices that its devices hold; without, numpy arrays. Raises `UserError` naming
    any missing, unexpected or misshapen tensor.
    """
    found = resolve(path)
    if found.is_dir():
        source: weights.Source = safetensors_folder.Folder(found)
    else:
        source = weights.InMemory(gguf.read_tensors(found))
    mapping = families.find(built.name).mapping
    params = weights.to_params(mapping, source, policy.param_shapes(built), shardings)
    policy.check_params(built, params)
    return params


def save_params(
    folder: Path, built: Policy, params: Params, *, dtype: Any, file_bytes: int
) -> list[str]:
    """Writes parameters to a Hugging Face folder as safetensors; returns file names.

    `dtype` is the stored one; a file holds about `file_bytes` at most.
    """
    mapping, stored_as = families.find(built.name).mapping, np.dtype(dtype)
    shapes = weights.tensor_shapes(mapping, params)
    sizes = {name: math.prod(s) * stored_as.itemsize for name, s in shapes.items()}
    tensors = weights.to_tensors(mapping, params)
    stored = ((name, value.astype(stored_as)) for name, value in tensors)
    return safetensors_folder.write(folder, stored, sizes, file_bytes=file_bytes)


def random(family: str, kwargs: dict[str, Any], **options: Any) -> Policy:
    """A policy for `policy.init(key)`: `kwargs` are fields of a `config.json`.

    What they leave out is tiny (`TINY`). `options` are those of `policy.build`.
    """
    kind = families.find(family)
    return policy.build(family, kind.read_config({**TINY, **kwargs}), **options)


def _read_json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        state = "is not a file" if file.exists() else "does not exist"
        raise UserError(f"model.path: {file} {state}")
    try:
        fields = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"model.path: cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"model.path: {file} is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise UserError(f"model.path: {file} should hold a JSON object")
    return fields
