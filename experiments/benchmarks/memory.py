"""Peak memory of a whole step against its sizes, as one JSON line.

python -m experiments.benchmarks.memory [--vary=samples --values=4,8,16] [--peer=trl]

Each point is a run of the step benchmark in a process of its own, since a process's
peak never falls. `exponent` is the slope of log(peak) against log(size): 1 is linear,
and less where parameters and optimizer state are most of it.
"""

from __future__ import annotations

from typing import Any

from experiments.benchmarks import curves, peers, update, work


def main() -> None:
    """Prints one JSON line."""
    parser = work.parser(__doc__ or "", prompts=4, samples=8)
    update.add_flags(parser)
    curves.add_flags(parser, "samples", "4,8,16")
    peers.add_flags(parser, ("trl", "tunix"))
    args = parser.parse_args()
    points = curves.run("step", args)
    figures: dict[str, Any] = curves.table(points, args, ("peak_memory_gib",))
    if args.peer:
        figures["peer"] = theirs = peers.step(args)
        same = curves.run("step", args, values=[getattr(args, args.vary)])[0]
        figures["ours"] = same["peak_memory_gib"]
        figures["of_their_memory"] = round(
            same["peak_memory_gib"] / theirs["peak_memory_gib"], 3
        )
    work.emit("memory", args, **figures)


if __name__ == "__main__":
    main()
