"""A whole step: sampling, grading, update; as one JSON line.

python -m experiments.benchmarks.step [--prompts=4 --samples=8 ..] [--peer=trl]

The step is `agrae_jax.step.rlvr_step`, as a run calls it. Every second completion of a
group is called right, so that every group has a gradient; no token ends a completion.
`peak_memory_gib` is of the whole process. The first step, compilation included, is
`first_seconds`.
"""

from __future__ import annotations

import dataclasses
import time
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from agrae_jax import build, methods
from agrae_jax.step import rlvr_step
from experiments.benchmarks import peers, update, work


def every_second(items: list[tuple[str, str]]) -> list[Any]:
    """Verdicts by place in the batch, not by text."""
    names = ("wrong", "correct")
    return [
        SimpleNamespace(outcome=names[i % 2], answer="", format_ok=None)
        for i in range(len(items))
    ]


def measure(args: Any) -> dict[str, Any]:
    """Times steps, and the phases of each."""
    given = update.fields(args) | {"rollout.segment": args.segment}
    loaded = work.load(args, **given)
    config, model = loaded.config, loaded.model
    endless = SimpleNamespace(
        eos_ids=work.NO_END, decode=lambda tokens: " ".join(map(str, tokens))
    )
    model = dataclasses.replace(model, tokenizer=endless)
    method = methods.resolve(args.method)
    tx = build.build_optimizer(config, method)
    with jax.set_mesh(model.mesh):
        state, shardings = build.build_state(model, method, tx)
        fns = build.build_step(config, model, method, tx, shardings, every_second)
        model = None  # its parameters are the state's, and those are donated
        phases: dict[str, list[float]] = {"sample": [], "verify": [], "learn": []}
        steps = []
        for number in range(args.repeats + 1):
            marks: list[tuple[str, float]] = []
            draws = np.arange(args.prompts, dtype=np.int32) + number * args.prompts
            prompts = dataclasses.replace(loaded.prompts, draw_B=draws)

            def mark(name: str, marks: list[tuple[str, float]] = marks) -> None:
                marks.append((name, time.perf_counter()))

            state, metrics, _ = rlvr_step(
                state, prompts, [""] * args.prompts, fns=fns, on_phase=mark
            )
            jax.block_until_ready((state.params, metrics))
            mark("end")
            steps.append(marks[-1][1] - marks[0][1])
            for (name, start), (_, end) in zip(marks, marks[1:], strict=False):
                phases[name].append(end - start)
        peak = work.matmul_peak(args.dtype)
    rows = args.prompts * args.samples
    sampled = rows * args.new_tokens
    computed = args.prompts * (args.prompt_tokens + args.samples * args.new_tokens)
    medians = {name: float(np.median(x[1:])) for name, x in phases.items()}
    flops = 2 * loaded.parameters * (sampled + 3 * computed)
    return {
        "first_seconds": round(steps[0], 3),
        **work.spread(steps[1:]),
        "phase_seconds": {name: round(x, 4) for name, x in medians.items()},
        "sampled_tokens_per_second": round(sampled / medians["sample"], 1),
        "trained_tokens_per_second": round(
            rows * (args.prompt_tokens + args.new_tokens) / medians["learn"], 1
        ),
        "of_peak": round(flops / float(np.median(steps[1:])) / peak, 3),
        "matmul_gflops": round(peak / 1e9, 1),
        "parameters": loaded.parameters,
        "peak_memory_gib": work.peak_memory_gib(),
    }


def main() -> None:
    """Prints one JSON line."""
    parser = work.parser(__doc__ or "", prompts=4, samples=8)
    update.add_flags(parser)
    parser.add_argument("--segment", type=int, default=0, help="as rollout.segment")
    peers.add_flags(parser, ("trl", "tunix"))
    args = parser.parse_args()
    figures = measure(args)
    if args.peer:
        figures["peer"] = theirs = peers.step(args)
        seconds, phases = figures["seconds"], figures["phase_seconds"]
        figures["times_faster"] = {
            "step": _ratio(theirs["step_seconds"]["median"], seconds["median"]),
            "sample": _ratio(theirs["gen_seconds"]["median"], phases["sample"]),
            "learn": _ratio(theirs["train_seconds"]["median"], phases["learn"]),
        }
        figures["of_their_memory"] = _ratio(
            figures["peak_memory_gib"], theirs["peak_memory_gib"]
        )
    work.emit("step", args, **figures)


def _ratio(above: float, below: float) -> float:
    return round(above / below, 3)


if __name__ == "__main__":
    main()
