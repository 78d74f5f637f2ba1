"""Writes a run's report: `python -m agrae_jax.report --workdir=RUN [--compare=A,B]`.

One HTML file, RUN/report.html, that works without a network. It only reads the run
directories, so a run may still be training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from agrae_jax.errors import UserError
from agrae_jax.reports import page
from agrae_jax.reports.gather import read_rollouts, read_run
from agrae_jax.run_directory import write_text

MOST = 4000  # completions shown; a page with more is slow to open


def write(
    workdir: str | Path,
    compare: Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    most: int = MOST,
) -> Path:
    """Writes the report of `workdir`, with the runs of `compare` in its curves.

    At most about `most` completions are put in. Raises UserError where a directory is
    no run.
    """
    runs = [read_run(path) for path in (workdir, *compare)]
    rollouts, left_out = read_rollouts(Path(workdir), most=most)
    target = Path(out) if out else Path(workdir) / "report.html"
    write_text(target, page.render(runs, rollouts, left_out))
    return target


def main(argv: Sequence[str] | None = None) -> int:
    """Parses the command line and writes the report."""
    parser = argparse.ArgumentParser(
        prog="python -m agrae_jax.report",
        description="Writes a run's report, one HTML file.",
    )
    parser.add_argument("--workdir", required=True, help="the run directory")
    parser.add_argument("--compare", default="", help="other runs, separated by commas")
    parser.add_argument("--out", default=None, help="file; default RUN/report.html")
    parser.add_argument(
        "--most", type=int, default=MOST, help="completions in the viewer, about"
    )
    args = parser.parse_args(argv)
    others = [path for path in args.compare.split(",") if path]
    print(f"Reading {', '.join([args.workdir, *others])}: a few seconds", flush=True)
    try:
        target = write(args.workdir, others, out=args.out, most=args.most)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"written to {target} ({target.stat().st_size / 2**20:.1f} MiB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
