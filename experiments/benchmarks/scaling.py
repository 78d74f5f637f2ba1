"""How the cost grows with a size of the work, as one JSON line.

python -m experiments.benchmarks.scaling --vary=samples --values=4,8,16,32
python -m experiments.benchmarks.scaling --vary=devices --values=1,2,4,8 --model=tiny

--vary: prompts, samples, prompt_tokens, new_tokens, vocab_size (with --model=tiny) or
devices (fake ones of the CPU: the cost of dividing the work, not a gain). Each point
is a run of the step benchmark in a process of its own. `exponent` is the slope of
log(seconds) against log(size): 1 is linear.
"""

from __future__ import annotations

from experiments.benchmarks import curves, update, work

FIGURES = ("sample", "learn", "step", "peak_memory_gib")


def main() -> None:
    """Prints one JSON line."""
    parser = work.parser(__doc__ or "", prompts=4, samples=8)
    update.add_flags(parser)
    curves.add_flags(parser, "samples", "4,8,16,32")
    args = parser.parse_args()
    points = curves.run("step", args)
    for point in points:
        point |= point["phase_seconds"] | {"step": point["seconds"]["median"]}
    work.emit("scaling", args, **curves.table(points, args, FIGURES))


if __name__ == "__main__":
    main()
