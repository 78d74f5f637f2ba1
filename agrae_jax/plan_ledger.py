"""One ledger of what the programs of a step need, as the TPU compiler sees them."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from agrae_jax import plan_chips, plan_cost, plan_hlo, plan_programs
from agrae_jax.run_directory import write_text

SAMPLING = ("sample", "prefill", "decode")
FULL = 0.9  # of a device's memory: what a plan may fill


@dataclasses.dataclass
class Line:
    """One program's row of the ledger; sizes in bytes, of one device, times seconds."""

    program: str
    runs: float
    compile_s: float = 0.0
    error: str = ""
    needs: float = 0.0  # alive at once while it runs, everything counted
    arguments: float = 0.0
    temporaries: float = 0.0
    outputs: float = 0.0  # new ones: not written over an argument
    flops: float = 0.0
    model_flops: float = 0.0
    traffic: float = 0.0
    collectives: dict[str, float] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0  # of one run, at the limit below
    bound: str = ""


def compile_all(
    steps: plan_programs.Step,
    topology: plan_chips.Topology,
    *,
    only: Sequence[str] = (),
    save: str = "",
) -> list[Line]:
    """Compiles the programs one after another; a failure is a line, not an end."""
    lines = []
    for program in steps.programs():
        if only and program.name not in only:
            continue
        line = Line(program.name, program.runs)
        line.model_flops = program.model_flops / len(topology.devices)
        started = time.monotonic()
        try:
            lowered = program.lower()
            compiled, text = _compile(lowered)
        except KeyError as error:
            line.error = f"not compiled: it follows {error.args[0]}, which failed"
        except jax.errors.JaxRuntimeError as error:
            line.error, line.needs = _too_much(str(error))
        else:
            steps.outputs[program.name] = plan_programs.outputs_of(lowered, compiled)
            _measure(line, compiled, text, program, topology)
            if save:
                write_text(Path(save) / f"{program.name}.hlo.txt", text)
        line.compile_s = time.monotonic() - started
        print(f"{line.program}: {line.compile_s:.0f} s {line.error}", flush=True)
        lines.append(line)
    return lines


def summarize(
    lines: list[Line], steps: plan_programs.Step, topology: plan_chips.Topology
) -> dict[str, Any]:
    """Peak memory over the step, the verdict, and the time of each phase."""
    held = steps.state_bytes + steps.reference_bytes
    for line in lines:
        if line.error:
            continue
        # What a program is given counts in its arguments; sampling holds the training
        # state beside them, and the cast copy is an argument of those that sample.
        beside = held if line.program in SAMPLING else 0
        line.needs = beside + line.arguments + line.outputs + line.temporaries
    peak = max((line.needs for line in lines), default=0.0)
    failed = [line for line in lines if line.error]
    seconds = {line.program: line.runs * line.seconds for line in lines}
    return {
        "topology": topology.name,
        "chips": topology.chips,
        "devices": len(topology.devices),
        "mesh": dict(steps.mesh_shape),
        "sizes": dataclasses.asdict(steps.sizes),
        "hbm": topology.hbm,
        "peak": peak,
        "state": held,
        "fits": not failed and peak <= FULL * topology.hbm,
        "seconds": seconds,
        "step_seconds": sum(seconds.values()),
    }


def render(lines: list[Line], ledger: dict[str, Any]) -> str:
    """The ledger as text."""
    head = (
        f"{'program':9}{'runs':>6}{'args':>8}{'temp':>8}{'new':>8}{'alive':>8}"
        f"{'TFLOP':>10}{'/model':>8}{'GB':>10}{'ICI GB':>9}{'s':>9}{'s/step':>9}  bound"
    )
    rows = [head]
    for x in lines:
        if x.error:
            rows.append(f"{x.program:9}{x.runs:6.0f}  {x.error}")
            continue
        ratio = f"{x.flops / x.model_flops:.2f}" if x.model_flops else "-"
        rows.append(
            f"{x.program:9}{x.runs:6.0f}{_gib(x.arguments):>8}{_gib(x.temporaries):>8}"
            f"{_gib(x.outputs):>8}{_gib(x.needs):>8}{x.flops / 1e12:10.1f}{ratio:>8}"
            f"{x.traffic / 1e9:10.1f}{sum(x.collectives.values()) / 1e9:9.1f}"
            f"{x.seconds:9.2f}{x.runs * x.seconds:9.1f}  {x.bound}"
        )
    moved = [
        f"{x.program}: "
        + ", ".join(
            f"{kind} {size / 1e9:.1f} GB" for kind, size in x.collectives.items()
        )
        for x in lines
        if x.collectives
    ]
    limit, peak = ledger["hbm"], ledger["peak"]
    verdict = (
        f"fits: {_gib(peak)} of {_gib(limit)} GiB of a device, {peak / limit:.0%}"
        if ledger["fits"]
        else f"does not fit: {_gib(peak)} GiB asked for, {_gib(FULL * limit)} is"
        f" {FULL:.0%} of a device"
    )
    return "\n".join(
        [
            "memory in GiB, operations and bytes for one run on one device",
            *rows,
            *(f"collectives, {line}" for line in moved),
            f"state {_gib(ledger['state'])} GiB; {verdict}",
            f"a step at the chip's limits: {ledger['step_seconds']:.0f} s "
            "(every completion at full length; real programs reach about half of it)",
        ]
    )


def _compile(lowered: Any) -> tuple[Any, str]:
    """The compiled program, and its text as the TPU compiler writes it to a file.

    `as_text` converts the program once more, which fails where work is offloaded to
    the sparse cores of a v6e.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
        compiled = lowered.compile(compiler_options=options)
        found = list(Path(folder).glob("*.after_optimizations.txt"))
        text = found[0].read_text() if len(found) == 1 else compiled.as_text()
    return compiled, text


def _measure(
    line: Line, compiled: Any, text: str, program: Any, topology: plan_chips.Topology
) -> None:
    memory = compiled.memory_analysis()
    line.arguments = float(memory.argument_size_in_bytes)
    line.temporaries = float(memory.temp_size_in_bytes)
    line.outputs = float(memory.output_size_in_bytes - memory.alias_size_in_bytes)
    cost = plan_cost.count(plan_hlo.Program(text), program.dynamic_trips)
    line.flops, line.traffic = cost.flops, cost.bytes
    line.collectives = cost.collectives
    times = {
        "compute": cost.flops / (topology.tflops * 1e12),
        "memory": cost.bytes / topology.hbm_rate,
        "links": sum(cost.collectives.values()) / topology.ici_rate,
    }
    line.bound = max(times, key=lambda name: times[name])
    line.seconds = times[line.bound]


def _too_much(text: str) -> tuple[str, float]:
    """One line and the bytes of a compiler's refusal."""
    found = re.search(r"(?:required|[Uu]sed) [^.]*?([\d.]+)([MG])", text)
    if "RESOURCE_EXHAUSTED" not in text or not found:
        return f"not compiled: {text.splitlines()[0][:160]}", 0.0
    size = float(found[1]) * (2**30 if found[2] == "G" else 2**20)
    return f"does not fit: the compiler asks for {_gib(size)} GiB of temporaries", size


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f}"
