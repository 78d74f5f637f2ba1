"""TPU generations: what one chip has, by Google's own tables, and topology names."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import os
import re
from typing import Any

from agrae_jax.errors import UserError


@dataclasses.dataclass(frozen=True)
class Chip:
    """One chip; a generation may show two devices for it, each with half of this."""

    tflops: float  # bfloat16 peak, 1e12 a second
    hbm_gib: float
    hbm_gbs: float  # 1e9 bytes a second
    ici_gbs: float  # 1e9 bytes a second, all links, both directions
    topologies: tuple[str, ...]  # shapes that were compiled for, as examples


# Sources, all below https://docs.cloud.google.com/tpu/docs/: v4, v5e, v6e, tpu7x (its
# table also has v5p and v6e), read 2026-12-01. v4's link figure: 6 links of 50 GB/s.
CHIPS = {
    "v4": Chip(275, 32, 1228, 300, ("2x2x4", "4x4x4", "4x4x8")),
    "v5e": Chip(197, 16, 819, 400, ("4x4", "8x8", "8x16", "16x16")),
    "v5p": Chip(459, 95, 2765, 1200, ("2x2x1", "2x2x4", "4x4x4", "4x4x8", "8x8x8")),
    "v6e": Chip(918, 32, 1638, 800, ("2x2", "4x4", "8x8", "16x16")),
    "tpu7x": Chip(2307, 192, 7380, 1200, ("2x2x1", "2x2x2", "2x2x4", "4x4x4")),
}


@dataclasses.dataclass(frozen=True)
class Topology:
    """Devices to compile for, and what each of them has."""

    name: str
    devices: list[Any]
    chips: int
    tflops: float
    hbm: float  # bytes
    hbm_rate: float  # bytes a second
    ici_rate: float  # bytes a second


def find(name: str) -> Topology:
    """The topology of a name like v5e:8x8, without any TPU.

    Raises `UserError` listing the generations, or naming libtpu where it is missing.
    """
    generation, _, shape = name.partition(":")
    if generation not in CHIPS or not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){1,2}", shape):
        raise UserError(
            f"--topology={name} is not one; valid are, for example,{_all()}"
        )
    chip = CHIPS[generation]
    devices = _devices(name)
    chips = math.prod(map(int, shape.split("x")))
    share = chips / len(devices)
    return Topology(
        name=name,
        devices=devices,
        chips=chips,
        tflops=chip.tflops * share,
        hbm=chip.hbm_gib * 2**30 * share,
        hbm_rate=chip.hbm_gbs * 1e9 * share,
        ici_rate=chip.ici_gbs * 1e9 * share,
    )


def _devices(name: str) -> list[Any]:
    # There is no metadata server to ask outside a TPU VM, and as no device is opened,
    # several plans may be made at once.
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
    if importlib.util.find_spec("libtpu") is None:
        raise UserError(
            "the plan needs the TPU compiler: pip install libtpu (200 MB; no TPU is"
            " needed)"
        )
    from jax.experimental import topologies

    try:
        found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    except Exception as error:  # jax raises what libtpu says, of any type
        first = str(error).strip().splitlines()[0][:200]
        raise UserError(
            f"--topology={name} is refused by the TPU compiler ({first}); valid are,"
            f" for example,{_all()}"
        ) from None
    return list(found.devices)


def _all() -> str:
    return "".join(
        f" {generation}:{shape}"
        for generation, chip in CHIPS.items()
        for shape in chip.topologies
    )
