"""The mesh, the wave and the micro-batches that fit a topology and are fastest there.

For every split of the devices that the model's heads allow, the largest wave and the
fewest micro-batches that fit are found by halving, each try compiled for real. Larger
ones read the weights less often, so of one mesh the largest are the fastest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax

from agrae_jax import build_model, plan_chips, plan_ledger, plan_programs
from agrae_jax import config as config_door
from agrae_jax.errors import UserError
from agrae_jax.types import Policy

SAMPLING = ("cast", "sample", "prefill", "decode")


@dataclasses.dataclass
class Choice:
    """The best of one mesh; without `seconds` none fits, for the reason in `note`."""

    tensor: int
    wave: int = 0
    micro_batches: int = 0
    peak: float = 0.0  # bytes of a device
    seconds: float = 0.0  # of a step, at the chip's limits
    note: str = ""


def search(
    config: Any, policy: Policy, topology: plan_chips.Topology
) -> tuple[Any, list[Choice]]:
    """(the config of the fastest choice, all choices).

    Raises UserError where nothing fits.
    """
    choices = []
    for tensor in _tensors(policy.config, len(topology.devices)):
        print(f"mesh.tensor={tensor}:", flush=True)
        choices.append(_best_of(config, policy, topology, tensor))
    fitting = [x for x in choices if x.seconds]
    if not fitting:
        raise UserError(
            f"nothing fits {topology.name}: {'; '.join(x.note for x in choices)}"
        )
    best = min(fitting, key=lambda x: x.seconds)
    print(render(choices, best, topology), flush=True)
    return _with(config, best.tensor, best.wave, best.micro_batches), choices


def render(choices: list[Choice], best: Choice, topology: plan_chips.Topology) -> str:
    """The choices as a table, and the flags of the best."""
    rows = [f"{'mesh':>6}{'wave':>8}{'micro':>7}{'of HBM':>8}{'s/step':>9}"]
    for x in choices:
        if not x.seconds:
            rows.append(f"{x.tensor:6}  {x.note}")
            continue
        rows.append(
            f"{x.tensor:6}{x.wave:8}{x.micro_batches:7}{x.peak / topology.hbm:8.0%}"
            f"{x.seconds:9.1f}{'  fastest' if x is best else ''}"
        )
    flags = (
        f"--config.mesh.tensor={best.tensor} --config.rollout.wave={best.wave}"
        f" --config.updates.micro_batches={best.micro_batches}"
    )
    return "\n".join([*rows, f"take: {flags}"])


def largest(
    options: Sequence[int], start: int, fits: Callable[[int], bool]
) -> int | None:
    """The last of `options`, which ask for more and more, that fits; None if none.

    Halves the range, first at `start`.
    """
    low, high = -1, len(options)
    middle = options.index(start)
    while high - low > 1:
        if fits(options[middle]):
            low = middle
        else:
            high = middle
        middle = (low + high) // 2
    return None if low < 0 else options[low]


def waves(prompts: int, fsdp: int) -> list[int]:
    """Groups that may be sampled together, growing."""
    return [n for n in range(fsdp, prompts + 1, fsdp) if prompts % n == 0]


def micro_batches(rows: int, fsdp: int) -> list[int]:
    """Parts that the groups of an optimizer step may be split into, falling."""
    return [n for n in range(rows // fsdp, 0, -1) if rows % n == 0 == rows // n % fsdp]


def _best_of(
    config: Any, policy: Policy, topology: plan_chips.Topology, tensor: int
) -> Choice:
    c, fsdp = config, len(topology.devices) // tensor
    wave_options = waves(c.rollout.prompts, fsdp)
    micro_options = micro_batches(c.rollout.prompts // c.updates.mini_batches, fsdp)
    if not wave_options or not micro_options:
        return Choice(
            tensor,
            note=f"mesh.tensor={tensor}: the {fsdp} devices of the fsdp axis do not"
            " divide the prompts of an optimizer step",
        )
    choice = Choice(tensor, wave_options[0], micro_options[0])
    first = _steps(config, policy, topology, choice)
    if first.state_bytes > plan_ledger.FULL * topology.hbm:
        choice.note = f"mesh.tensor={tensor}: the training state alone does not fit"
        return choice
    known: dict[str, dict[int, list[plan_ledger.Line]]] = {"wave": {}, "micro": {}}

    def tried(kind: str, size: int, names: Sequence[str]) -> bool:
        sizes = {"wave": "wave", "micro": "micro_batches"}
        trial = dataclasses.replace(choice, **{sizes[kind]: size})
        steps = _steps(config, policy, topology, trial)
        steps.outputs.update(first.outputs)
        print(f"  {sizes[kind]}={size}", end=": ", flush=True)
        with jax.set_mesh(steps.mesh):
            lines = plan_ledger.compile_all(steps, topology, only=names)
        known[kind][size] = lines
        return plan_ledger.summarize(lines, steps, topology)["fits"]

    start = _nearest(wave_options, c.rollout.wave or c.rollout.prompts)
    wave = largest(wave_options, start, lambda n: tried("wave", n, SAMPLING))
    if wave is None:
        choice.note = f"mesh.tensor={tensor}: not even a wave of {choice.wave} fits"
        return choice
    choice.wave = wave
    with jax.set_mesh(first.mesh):
        scored = plan_ledger.compile_all(first, topology, only=("score",))
    if any(line.error for line in scored):
        choice.note = f"mesh.tensor={tensor}: scoring does not fit"
        return choice
    start = _nearest(micro_options, c.updates.micro_batches)
    micro = largest(micro_options, start, lambda n: tried("micro", n, ("update",)))
    if micro is None:
        choice.note = f"mesh.tensor={tensor}: not even {micro_options[0]} parts fit"
        return choice
    choice.micro_batches = micro
    lines = [*known["wave"][wave], *scored, *known["micro"][micro]]
    choice.peak = max(line.needs for line in lines)
    choice.seconds = sum(line.runs * line.seconds for line in lines)
    return choice


def _steps(
    config: Any, policy: Policy, topology: plan_chips.Topology, choice: Choice
) -> plan_programs.Step:
    trial = _with(config, choice.tensor, choice.wave, choice.micro_batches)
    mesh = build_model.build_mesh(trial, topology.devices)
    return plan_programs.Step(trial, policy, mesh)


def _with(config: Any, tensor: int, wave: int, micro_batches: int) -> Any:
    trial: Any = config_door.from_json(config_door.to_json(config))
    trial.mesh.tensor, trial.mesh.fsdp = tensor, -1
    trial.rollout.wave = wave
    trial.updates.micro_batches = micro_batches
    trial.eval.prompts = wave
    return trial


def _tensors(model: Any, devices: int) -> list[int]:
    """Parts that heads can be split into on so many devices."""
    return [
        n
        for n in range(1, model.kv_heads + 1)
        if model.kv_heads % n == 0 == devices % n
    ]


def _nearest(options: Sequence[int], size: int) -> int:
    return min(options, key=lambda n: abs(n - size))
