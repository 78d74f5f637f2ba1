"""Grades a file of cases, or audits the golds of a file.

python -m agrae_jax.verify --cases=FILE.jsonl [--out=FILE]
    {"id", "gold", "response"} a line, plus "expected" and "kind" if known;
    --out gets a verdict a line, the summary is printed as JSON.
python -m agrae_jax.verify --audit=DATASET [--field=NAME] [--out=FILE]
    jsonl:PATH, parquet:PATH or a benchmark's name; damaged golds are listed: those that
    are not understood, or are not what their own solution boxes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import NoReturn

from agrae_jax.errors import PIPE_CLOSED, UserError
from agrae_jax.verify import audit, cases, grade, verifiers
from agrae_jax.verify.pool import Pool


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def main(argv: list[str]) -> int:
    """Runs the command; returns its exit code, raises UserError for bad input."""
    parser = _Arguments(prog="python -m agrae_jax.verify", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", metavar="FILE", help="JSON lines to grade")
    parser.add_argument("--audit", metavar="DATASET", help="whose golds to check")
    parser.add_argument("--field", default="", help="of the gold, if not a usual one")
    parser.add_argument("--out", metavar="FILE", help="JSON lines to write")
    parser.add_argument("--verifier", default="math", help="see docs/verifier.md")
    parser.add_argument("--kwargs", default="{}", help="JSON, of the verifier")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--deadline_s", type=float, default=5.0)
    args = parser.parse_args(argv)
    if (args.cases is None) == (args.audit is None):
        raise UserError("give either --cases=FILE or --audit=FILE")
    if not (args.cases or args.audit):
        raise UserError("--cases and --audit take a name: give it one")
    if args.workers < 1 or not 0 < args.deadline_s < 1e6:
        raise UserError(
            "--workers must be at least 1 and --deadline_s above 0 (below 1e6)"
        )
    _check_out(args.out, args.cases or args.audit.partition(":")[2])
    if args.audit:
        # By name: verify/ itself needs no reader of data sets, and no jax.
        rows = importlib.import_module("agrae_jax.data.golds").raw(
            args.audit, args.field
        )
        grade.prepare_process()
        found = audit.golds(rows)
        kinds = sorted({f["damage"] for f in found})
        counts = {k: sum(f["damage"] == k for f in found) for k in kinds}
        _write(args.out, found)
        print(json.dumps({"rows": len(rows), "damaged": len(found), **counts}))
        if not args.out:
            for row in found:
                print(json.dumps(row))
        return 0
    rows = cases.read(args.cases, "gold", "response")
    try:
        kwargs = json.loads(args.kwargs)
        kwargs = {str(name): kwargs[name] for name in kwargs}
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UserError(f"--kwargs={args.kwargs} is no JSON object") from error
    verifiers.resolve(args.verifier, **kwargs)  # said here, not by a worker
    pool = Pool(args.workers, args.deadline_s, verifier=args.verifier, kwargs=kwargs)
    with pool:
        verdicts, seconds = cases.grade(rows, pool)
    out = [cases.record(r, v) for r, v in zip(rows, verdicts, strict=True)]
    _write(args.out, out)
    print(json.dumps(cases.summary(rows, verdicts, seconds), indent=1))
    return 0


def _check_out(path: str | None, source: str) -> None:
    """Raises UserError where --out is what is read, or cannot be written: before all
    is graded for nothing."""
    if path is None:
        return
    if os.path.exists(path) and os.path.exists(source):
        if os.path.samefile(path, source):
            raise UserError(f"--out={path} is the file that is read: name another")
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise UserError(f"cannot write --out={path}: no file in a folder for writing")


def _write(path: str | None, rows: list[cases.Row]) -> None:
    if path is None:
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error}") from error


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()  # here, where a reader that left can still be caught
        sys.exit(code)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os._exit(PIPE_CLOSED)  # nothing to flush to
