"""Meshes, and logical axis names turned into shardings, strictly.

A model has one table path regex -> logical axes and two mappings logical axis -> mesh
axis ("train", "sample"). Everything here is a pure function of those tables: a path
without an entry, a rank that differs, a mesh axis used twice and a size that does not
divide all raise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from agrae_jax.errors import UserError

FSDP, TENSOR = "fsdp", "tensor"
AXES = (FSDP, TENSOR)

Rules = Mapping[str, Any]  # logical axis -> mesh axis, or None = not split


def make_mesh(
    fsdp: int = -1, tensor: int = 1, devices: Sequence[Any] | None = None
) -> Mesh:
    """A (fsdp, tensor) mesh; fsdp = -1 takes all devices that are left.

    Groups are split over fsdp, heads, hidden units and vocabulary over tensor. Raises
    `UserError` if the sizes do not use every device.
    """
    devices = jax.devices() if devices is None else devices
    count = len(devices)
    if tensor < 1 or count % tensor:
        raise UserError(f"mesh.tensor = {tensor} does not divide {count} devices")
    fsdp = count // tensor if fsdp == -1 else fsdp
    if fsdp * tensor != count:
        raise UserError(
            f"mesh.fsdp x mesh.tensor = {fsdp} x {tensor} is not the number of"
            f" devices, {count}; set mesh.fsdp=-1"
        )
    return Mesh(
        device_grid((fsdp, tensor), devices), AXES, axis_types=(AxisType.Auto,) * 2
    )


def device_grid(shape: tuple[int, int], devices: Sequence[Any]) -> np.ndarray:
    """The devices in this shape, those of a row near each other."""
    try:
        # A torus of 8 x 8 has no axis of 16: one of its own is split for it.
        return mesh_utils.create_device_mesh(
            shape, devices, allow_split_physical_axes=True
        )
    except AssertionError:  # a v4 described with both cores of a chip apart
        return np.asarray(devices).reshape(shape)


def partition_spec(axes: Sequence[str | None], rules: Rules) -> PartitionSpec:
    """Mesh axes of the named logical axes; None is a dimension that is not split.

    Raises `ValueError` for a name without a rule or a mesh axis used twice.
    """
    mesh_axes = []
    for axis in axes:
        if axis is not None and axis not in rules:
            raise ValueError(f"logical axis {axis!r} has no rule; known: {list(rules)}")
        mesh_axes.append(None if axis is None else rules[axis])
    used = [axis for axis in mesh_axes if axis is not None]
    if len(used) != len(set(used)):
        raise ValueError(f"{tuple(axes)} puts two axes on one mesh axis: {mesh_axes}")
    return PartitionSpec(*mesh_axes)


def named_shardings(
    params: Any, param_axes: Sequence[tuple[str, Any]], rules: Rules, mesh: Mesh
) -> Any:
    """The sharding of every leaf of a parameter tree (arrays or shapes).

    The first regex of `param_axes` that matches the whole path ("layers/mlp/up/kernel")
    decides. Raises `ValueError` with the path if none matches or the rank differs,
    `UserError` if a dimension is not divisible by its mesh axis.
    """

    def one(key_path: Any, leaf: Any) -> NamedSharding:
        path = tree_path(key_path)
        matches = (axes for regex, axes in param_axes if re.fullmatch(regex, path))
        axes = next(matches, None)
        if axes is None:
            raise ValueError(f"parameter {path} matches no entry of the sharding table")
        if len(axes) != len(leaf.shape):
            raise ValueError(f"parameter {path} has shape {leaf.shape}, axes {axes}")
        try:
            spec = partition_spec(axes, rules)
        except ValueError as error:
            raise ValueError(f"parameter {path}: {error}") from None
        _check_divides(leaf.shape, axes, spec, mesh.shape, f"parameter {path}")
        return NamedSharding(mesh, spec)

    return jax.tree_util.tree_map_with_path(one, params)


def constrain(x: Array, axes: Sequence[str | None], rules: Rules) -> Array:
    """Pins an activation to its logical axes on the mesh of `jax.set_mesh`, if any."""
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty:
        return x
    if len(axes) != x.ndim:
        raise ValueError(f"activation has shape {x.shape}, axes {tuple(axes)}")
    spec = partition_spec(axes, rules)
    _check_divides(x.shape, axes, spec, mesh.shape, "activation")
    return jax.lax.with_sharding_constraint(x, spec)


def batch_sharding(mesh: Mesh) -> NamedSharding:
    """Groups, the leading axis of every batch array, split over fsdp."""
    return NamedSharding(mesh, PartitionSpec(FSDP))


def batch_shards() -> int:
    """Into how many parts the mesh of `jax.set_mesh` splits a batch; 1 without one."""
    return jax.sharding.get_abstract_mesh().shape.get(FSDP, 1)


def tree_path(key_path: Any) -> str:
    """A pytree key path as "a/b/c"."""
    return jax.tree_util.keystr(key_path, simple=True, separator="/")


def _check_divides(
    shape: Sequence[int],
    axes: Sequence[str | None],
    spec: PartitionSpec,
    mesh_shape: Mapping[str, int],
    what: str,
) -> None:
    for size, axis, mesh_axis in zip(shape, axes, spec, strict=True):
        if mesh_axis is not None and size % mesh_shape[mesh_axis]:
            raise UserError(
                f"{what}: axis {axis!r} of size {size} (shape {tuple(shape)}) is not"
                f" divisible by mesh.{mesh_axis} = {mesh_shape[mesh_axis]}"
            )
