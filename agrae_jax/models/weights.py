"""A family's name table applied in either direction, tensor by tensor.

A matrix is stored transposed by Hugging Face, [outputs, inputs], with heads and their
width in one axis; everything else keeps its order. Stacked layers (paths below
"layers/") are one tensor each there. Loading asks the source for the slices that a
sharding puts on this host and for nothing else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, Protocol

import jax
import numpy as np

from agrae_jax.errors import UserError
from agrae_jax.types import Params

# (our path, their name with {} for the layer, leading axes that are a matrix's inputs
# or 0 where it is none)
Mapping = tuple[tuple[str, str, int], ...]
_CHECKED = 64  # rows of a tensor in which numbers are looked at
Bounds = tuple[tuple[int, int], ...]  # (start, stop) of every axis


class Source(Protocol):
    """Tensors by name; what is not asked for is not read."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, by name."""
        ...

    def read(self, name: str, index: tuple[slice, ...]) -> np.ndarray:
        """A part of a tensor: one slice an axis, of step 1."""
        ...


class InMemory:
    """A state dict as a `Source`."""

    def __init__(self, state: dict[str, np.ndarray]):
        self._state = state

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, by name."""
        return {name: value.shape for name, value in self._state.items()}

    def read(self, name: str, index: tuple[slice, ...]) -> np.ndarray:
        """A part of a tensor."""
        return self._state[name][index]


def to_params(
    mapping: Mapping, source: Source, shapes: Params, shardings: Params | None = None
) -> Params:
    """Parameters of exactly these shapes and dtypes, from a source of tensors.

    With `shardings` (a tree like `shapes`) they are global arrays, for each of which
    this process reads its own slices; without, numpy arrays. Raises `UserError` naming
    a tensor that is missing, left over or of another size, before anything is read.
    """
    _check(mapping, source.shapes(), shapes)
    params: Params = {}
    for path, name, inputs in mapping:
        target = _get(shapes, path)
        if target is None:
            continue
        read = functools.partial(_part, source, (path, name, inputs), target)
        if shardings is None:
            value: Any = read(tuple((0, size) for size in target.shape))
        else:
            value = _sharded(target.shape, _get(shardings, path), read)
        _set(params, path, value)
    return params


def to_tensors(mapping: Mapping, params: Params) -> Iterator[tuple[str, np.ndarray]]:
    """(Hugging Face's name, tensor) of every parameter, one at a time, on host."""
    for path, name, inputs in mapping:
        value = _get(params, path)
        if value is None:
            continue
        for theirs, layer in _names(path, name, value.shape):
            ours = np.asarray(value if layer is None else value[layer])
            shape = _their_shape(ours.shape, path, inputs)
            ours = ours.reshape(shape[::-1]).T if inputs else ours.reshape(shape)
            yield theirs, np.ascontiguousarray(ours)


def tensor_shapes(mapping: Mapping, shapes: Params) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor that makes up parameters of `shapes`, by its name."""
    found = {}
    for path, name, inputs in mapping:
        target = _get(shapes, path)
        if target is None:
            continue
        for theirs, layer in _names(path, name, target.shape):
            ours = target.shape if layer is None else target.shape[1:]
            found[theirs] = _their_shape(ours, path, inputs)
    return found


def _check(mapping: Mapping, found: dict[str, tuple[int, ...]], shapes: Params) -> None:
    left = {k: v for k, v in found.items() if not k.endswith("rotary_emb.inv_freq")}
    if "head" not in shapes:  # tied: some writers keep a copy of the embedding
        left.pop("lm_head.weight", None)
    for name, wanted in tensor_shapes(mapping, shapes).items():
        if name not in left:
            raise UserError(f"model weights: tensor {name} is missing")
        shape = left.pop(name)
        if shape != wanted:
            raise UserError(
                f"model weights: tensor {name} has shape {shape},"
                f" the config asks for {wanted}"
            )
    if left:
        raise UserError(f"model weights: tensor {min(left)} has no place in the family")


def _sharded(shape: tuple[int, ...], sharding: Any, read: Any) -> jax.Array:
    # devices that hold the same part ask for it one after another
    once = functools.lru_cache(maxsize=1)(read)

    def part(index: Any) -> np.ndarray:  # one slice an axis
        return once(tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True)))

    return jax.make_array_from_callback(shape, sharding, part)


def _part(
    source: Source, row: tuple[str, str, int], target: Any, bounds: Bounds
) -> np.ndarray:
    """The part of one parameter within (start, stop) of each of its axes."""
    path, name, inputs = row
    value = np.empty([stop - start for start, stop in bounds], target.dtype)
    if not path.startswith("layers/"):
        _read(source, name, (path, inputs), target.shape, bounds, value)
        return value
    for i, layer in enumerate(range(*bounds[0])):
        theirs = name.format(layer)
        _read(source, theirs, (path, inputs), target.shape[1:], bounds[1:], value[i])
    return value


def _read(
    source: Source,
    name: str,
    kind: tuple[str, int],
    shape: tuple[int, ...],
    bounds: Bounds,
    into: np.ndarray,
) -> None:
    """One tensor's part. Of axes that are one of theirs, the first one is cut in the
    file and the others in memory."""
    groups = _groups(len(shape), *kind)
    rows, sizes, cuts = [], [], []
    for group in groups:
        (start, stop), *rest = bounds[group]
        inner = math.prod(shape[group][1:])
        rows.append(slice(start * inner, stop * inner))
        sizes += [stop - start, *shape[group][1:]]
        cuts += [slice(None), *(slice(*b) for b in rest)]
    transposed = kind[1] > 0
    tensor = source.read(name, tuple(reversed(rows) if transposed else rows))
    tensor = tensor.T if transposed else tensor
    with np.errstate(invalid="ignore"):  # said below, by name
        into[...] = tensor.reshape(sizes)[tuple(cuts)]
    # Some rows of every tensor: all would take as long again as reading them.
    some = into[:: max(1, len(into) // _CHECKED)] if into.ndim else into
    if not np.isfinite(some).all():
        raise UserError(f"model weights: tensor {name} holds what is no finite number")


def _groups(rank: int, path: str, inputs: int) -> list[slice]:
    """Our axes that are one axis of theirs, for every axis of theirs."""
    if inputs:
        return [slice(0, inputs), slice(inputs, rank)]
    if path.endswith("bias"):
        return [slice(0, rank)]
    return [slice(i, i + 1) for i in range(rank)]


def _their_shape(ours: tuple[int, ...], path: str, inputs: int) -> tuple[int, ...]:
    sizes = [math.prod(ours[group]) for group in _groups(len(ours), path, inputs)]
    return tuple(reversed(sizes) if inputs else sizes)


def _names(
    path: str, name: str, shape: tuple[int, ...]
) -> Iterator[tuple[str, int | None]]:
    """(their name, our layer) of every tensor that makes up one parameter."""
    if not path.startswith("layers/"):
        yield name, None
        return
    for layer in range(shape[0]):
        yield name.format(layer), layer


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
