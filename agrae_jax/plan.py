"""What a config costs on TPUs that nobody has booked yet.

    python -m agrae_jax.plan --config=configs/qwen7b.py --topology=v5e:8x8

Compiles every program of a step with the real TPU compiler, on any machine, and prints
one ledger: memory, floating-point operations, traffic and the time they would take at
the chip's limits. `pip install libtpu` is all that it needs beside the requirements.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import jax

from agrae_jax import (
    build_model,
    models,
    plan_chips,
    plan_ledger,
    plan_models,
    plan_programs,
    plan_search,
)
from agrae_jax import config as config_door
from agrae_jax.config import Flag
from agrae_jax.data import templates
from agrae_jax.errors import UserError
from agrae_jax.run_directory import write_json
from agrae_jax.types import Policy

FLAGS = {
    "topology": Flag(str, "", "TPU slice, as v5e:8x8, v5p:4x4x4, v6e:8x8, tpu7x:2x2x2"),
    "model": Flag(str, "", "published model, as Qwen2.5-72B; default the config's"),
    "json": Flag(str, "", "file to write the ledger to as well"),
    "save": Flag(str, "", "folder to keep the compiled programs' text in"),
    "search": Flag(bool, False, "find the mesh, the wave and the micro-batches first"),
    "programs": Flag(str, "", "compile only these, as score,update; default all"),
}
OPEN = "random:llama"  # stands for a model that the config leaves open


def main(argv: list[str]) -> int:
    """Compiles, prints and writes the ledger; 1 where the step does not fit."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    file = next((a.partition("=")[2] for a in argv if a.startswith("--config=")), "")
    opened: Any = config_door.load_file(file) if file else None
    is_open = opened is not None and not opened.model.path
    parsed = config_door.parse(_fill_in(argv, is_open), extra_flags=FLAGS)
    config: Any = parsed.config
    flags = parsed.flags
    if not flags["topology"]:
        raise UserError("give --topology=NAME, for example --topology=v5e:8x8")
    _check_places(flags["json"], flags["save"])
    topology = plan_chips.find(flags["topology"])
    is_open = is_open and config.model.path == OPEN
    policy = _policy(config, flags["model"], Path(file).stem if is_open else "")
    if flags["search"]:
        print("searching: half an hour for a 7B model on 2 cores", flush=True)
        config, _ = plan_search.search(config, policy, topology)
    mesh = build_model.build_mesh(config, topology.devices)
    axes = " ".join(f"{axis}={size}" for axis, size in mesh.shape.items())
    print(
        f"{topology.name}: {topology.chips} chips, {len(topology.devices)} devices of "
        f"{topology.hbm / 2**30:.1f} GiB; mesh {axes}",
        flush=True,
    )
    # Not under the mesh: nothing may run on devices that are not there.
    steps = plan_programs.Step(config, policy, mesh)
    only = _named(flags["programs"], [program.name for program in steps.programs()])
    with jax.set_mesh(mesh):
        lines = plan_ledger.compile_all(steps, topology, only=only, save=flags["save"])
    ledger = plan_ledger.summarize(lines, steps, topology)
    print(plan_ledger.render(lines, ledger))
    if flags["json"]:
        rows = [dataclasses.asdict(line) for line in lines]
        write_json(Path(flags["json"]), {**ledger, "programs": rows})
    return 0 if ledger["fits"] else 1


def _named(text: str, known: list[str]) -> list[str]:
    """The programs that --programs names; raises UserError for another word."""
    named = [part.strip() for part in text.split(",") if part.strip()]
    odd = [name for name in named if name not in known]
    if odd:
        raise UserError(f"--programs={odd[0]} is not one of {', '.join(known)}")
    for name, before in (("update", "score"), ("decode", "prefill")):
        if name in named and before not in named:
            raise UserError(f"--programs={name} needs {before}: name it too")
    return named


def _check_places(file: str, folder: str) -> None:
    """Raises UserError where --json or --save could not be written: before minutes of
    compiling. Makes the folder."""
    if file and (Path(file).is_dir() or not os.access(Path(file).parent, os.W_OK)):
        raise UserError(f"--json={file}: not a file in a folder that can be written")
    if folder:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--save={folder}: {error.strerror}") from None
        if not os.access(folder, os.W_OK):
            raise UserError(f"--save={folder} cannot be written")


def _fill_in(argv: list[str], is_open: bool) -> list[str]:
    """The command line with what a plan does not need made up: data, and a model's
    path where the config leaves it open."""
    made = {"data.train": "arithmetic", "data.test": "arithmetic"}
    if is_open:
        made["model.path"] = OPEN
    given = {a.partition("=")[0] for a in argv}
    missing = {k: v for k, v in made.items() if f"--config.{k}" not in given}
    return [*argv, *(f"--config.{k}={v}" for k, v in missing.items())]


def _policy(config: Any, model: str, meant: str) -> Policy:
    """The policy of `--model`, or of the model that the config `meant` is written for,
    or of the config's own path."""
    c = config.model
    options = build_model.policy_options(config) | {"unroll_decode": False}
    if c.attention == "auto":  # what it is on a TPU
        options["attention"] = "splash" if c.dtype == "bfloat16" else "plain"
    if model or meant:
        family, fields = plan_models.find(model, meant)
        return models.random(family, fields, **options)
    if c.path.startswith("random:"):
        fields = {"vocab_size": templates.tiny().vocab_size, **dict(c.kwargs)}
        return models.random(c.path.removeprefix("random:"), fields, **options)
    return models.load_policy(c.path, **options)[0]


if __name__ == "__main__":
    config_door.main(main)
