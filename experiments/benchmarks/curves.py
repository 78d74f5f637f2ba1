"""A benchmark at several sizes, a process each, and the growth between them."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

SIZES = ("prompts", "samples", "prompt_tokens", "new_tokens", "vocab_size", "devices")
_OWN = {"vary", "values", "peer", "peer_python", "peer_preload"}  # not the point's


def add_flags(parser: argparse.ArgumentParser, vary: str, values: str) -> None:
    """Which size to vary, and over what."""
    parser.add_argument("--vary", default=vary, choices=SIZES)
    parser.add_argument("--values", default=values, help="sizes, with commas between")


def run(
    benchmark: str, args: argparse.Namespace, values: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """The JSON lines of a benchmark at each size."""
    given = {name: value for name, value in vars(args).items() if name not in _OWN}
    found = []
    for value in values or [int(x) for x in args.values.split(",")]:
        flags = [f"--{name}={x}" for name, x in (given | {args.vary: value}).items()]
        devices = value if args.vary == "devices" else given.get("devices", 1)
        env = os.environ | {
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"
        }
        command = [sys.executable, "-m", f"experiments.benchmarks.{benchmark}", *flags]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
        found.append(json.loads(done.stdout.splitlines()[-1]) | {"size": value})
    return found


def table(
    points: list[dict[str, Any]], args: argparse.Namespace, names: Sequence[str]
) -> dict[str, Any]:
    """{"vary", "sizes", and of each name its values and the exponent of its growth}."""
    sizes = [point["size"] for point in points]
    figures: dict[str, Any] = {"vary": args.vary, "sizes": sizes}
    for name in names:
        values = [point[name] for point in points]
        figures[name] = {"values": values, "exponent": exponent(sizes, values)}
    return figures


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(value) against log(size), by least squares."""
    xs, ys = [math.log(x) for x in sizes], [math.log(y) for y in values]
    x0, y0 = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x0) ** 2 for x in xs)
    rise = sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True))
    return round(rise / spread, 3) if spread else math.nan
