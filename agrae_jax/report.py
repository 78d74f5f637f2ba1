"""Writes a run's report: `python -m agrae_jax.report --workdir=RUN [--compare=A,B]`.

One HTML file, RUN/report.html, that works without a network. It only reads the run
directories, so a run may still be training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.evaluation import comparison, others
from agrae_jax.reports import page
from agrae_jax.reports.gather import (
    Run,
    last_evaluations,
    read_rollouts,
    read_run,
    studies,
)
from agrae_jax.run_directory import write_text

MOST = 4000  # completions shown; a page with more is slow to open


def write(
    workdir: str | Path,
    compare: Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    most: int = MOST,
) -> Path:
    """Writes the report of `workdir`, the runs of `compare` beside it.

    At most about `most` completions are put in. Raises UserError where a directory is
    no run.
    """
    runs = [read_run(path) for path in (workdir, *compare)]
    rollouts, left_out = read_rollouts(Path(workdir), most=most)
    target = Path(out) if out else Path(workdir) / "report.html"
    if target.exists() and target.suffix not in (".html", ".htm"):
        raise UserError(f"--out={target} is there already and no report: name another")
    between = differences(studies(runs))
    write_text(target, page.render(runs, rollouts, left_out, between))
    return target


def differences(groups: Mapping[str, Sequence[Run]]) -> list[page.Difference]:
    """Every further study minus the first, on each test set of the first's last step.

    Where there is none to give (other problems, no evaluation, other settings) the
    note says why.
    """
    (first, before), *further = groups.items()
    found = []
    for label, after in further:
        for name in last_evaluations(before[0]):
            title, gains = f"{name}: {label} minus {first}", {}
            try:
                old, new = _results(before, name), _results(after, name)
                asked, settings = others.questions(old[0]["records"]), _settings(old[0])
                odd = [others.check_alike(label, r, asked, settings) for r in new]
                said = "; ".join(filter(None, odd))
                where = f"{label} there, {first} here"
                note = f"Settings differ, {where}: {said}." if said else ""
                gains = comparison.differences(
                    [r["records"] for r in old], [r["records"] for r in new]
                )
            except UserError as error:
                note = f"No difference is given: {error}."
            found.append(page.Difference(title, gains, note))
    return found


def _results(runs: Sequence[Run], name: str) -> list[others.Result]:
    """The last evaluation of a test set by each run, with its records."""
    files = [last_evaluations(run).get(name) for run in runs]
    if None in files:
        raise UserError(f"not all have an evaluation of {name}")
    return [others.read(file) for file in files if file is not None]


def _settings(result: others.Result) -> Mapping[str, Any]:
    held = result.get("settings")
    return held if isinstance(held, Mapping) else {}


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
