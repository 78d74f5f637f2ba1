"""The safetensors door, and a family's table applied in either direction.

A matrix is stored transposed by Hugging Face, [outputs, inputs], with heads and their
width in one axis; everything else keeps its order. Stacked layers (paths below
"layers/") are one tensor each there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from agrae_jax.errors import UserError
from agrae_jax.types import Params

# (our path, their name with {} for the layer, leading axes that are a matrix's inputs
# or 0 where it is none)
Mapping = tuple[tuple[str, str, int], ...]


def read_safetensors(folder: Path) -> dict[str, np.ndarray]:
    """The state dict of a folder, from one file or from a sharded index."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = set(json.loads(index.read_text())["weight_map"].values())
        files = sorted(folder / name for name in names)
    else:
        files = [folder / "model.safetensors"]
    state = {}
    for file in files:
        if not file.exists():
            raise UserError(f"model.path: {file} does not exist")
        try:
            with safe_open(file, framework="flax") as tensors:
                for name in tensors.keys():
                    state[name] = np.asarray(tensors.get_tensor(name))
        except SafetensorError as error:
            raise UserError(f"model.path: {file} is damaged: {error}") from None
    return state


def to_params(mapping: Mapping, state: dict[str, np.ndarray], shapes: Params) -> Params:
    """A state dict as nested parameters of exactly these shapes and dtypes, on host.

    Raises `UserError` naming a tensor that is missing, left over or of another size.
    """
    left = {k: v for k, v in state.items() if not k.endswith("rotary_emb.inv_freq")}
    if "head" not in shapes:  # tied: some writers keep a copy of the embedding
        left.pop("lm_head.weight", None)
    params: Params = {}
    for path, name, inputs in mapping:
        target = _get(shapes, path)
        if target is None:
            continue
        value = np.empty(target.shape, target.dtype)
        for theirs, ours in _slots(path, name, value):
            if theirs not in left:
                raise UserError(f"model weights: tensor {theirs} is missing")
            tensor, wanted = left.pop(theirs), _their_shape(ours, inputs, path)
            if tensor.shape != wanted:
                raise UserError(
                    f"model weights: tensor {theirs} has shape {tensor.shape},"
                    f" the config asks for {wanted}"
                )
            ours[...] = (tensor.T if inputs else tensor).reshape(ours.shape)
        _set(params, path, value)
    if left:
        raise UserError(f"model weights: tensor {min(left)} has no place in the family")
    return params


def to_state(mapping: Mapping, params: Params) -> dict[str, np.ndarray]:
    """Nested parameters as a Hugging Face state dict, on host."""
    state = {}
    for path, name, inputs in mapping:
        value = _get(params, path)
        if value is None:
            continue
        for theirs, ours in _slots(path, name, np.asarray(value)):
            shape = _their_shape(ours, inputs, path)
            ours = ours.reshape(shape[::-1]).T if inputs else ours.reshape(shape)
            state[theirs] = np.ascontiguousarray(ours)
    return state


def _their_shape(ours: np.ndarray, inputs: int, path: str) -> tuple[int, ...]:
    shape = ours.shape
    if inputs:
        return math.prod(shape[inputs:]), math.prod(shape[:inputs])
    return (math.prod(shape),) if path.endswith("bias") else shape


def _slots(path: str, name: str, value: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """(their name, our view) of every tensor that makes up one parameter."""
    if not path.startswith("layers/"):
        yield name, value[...]
        return
    for i in range(value.shape[0]):
        yield name.format(i), value[i]


def _get(tree: Any, path: str) -> Any:
    for key in path.split("/"):
        if key not in tree:
            return None
        tree = tree[key]
    return tree


def _set(tree: Params, path: str, value: Any) -> None:
    *parents, leaf = path.split("/")
    for key in parents:
        tree = tree.setdefault(key, {})
    tree[leaf] = value
