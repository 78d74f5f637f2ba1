"""Speed of the verifier beside math-verify, in one run, as JSON.

python -m experiments.benchmarks.verifier [--bank=FILE.jsonl] [--numbers=2000]

`numbers`: ordinary numeric answers, both graders in this process, one thread.
`bank`: every case of a file of {"gold", "response"} lines, both graders in one worker
process each, with the same deadline. A case at the deadline costs the deadline;
`without_deadline_hits` leaves those cases out for both. The bank may also be named by
the environment variable AGRAE_SHARED_DATA, the folder of verifier_public.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import random
import time
from collections.abc import Callable

from agrae_jax.verify import cases, symbolic
from agrae_jax.verify.grade import grade
from agrae_jax.verify.pool import Pool

_BANK = "verifier_public.jsonl"
_WORDS = "First we add the numbers, then we divide, and so we find the result. " * 8


def ordinary(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """(text, gold) pairs as models write them: integers, decimals, fractions."""
    rng = random.Random(seed)
    items = []
    for _ in range(count):
        kind = rng.randrange(4)
        value = rng.randrange(1, 10**6)
        if kind == 0:
            gold, answer = str(value % 1000), str(value % 1000)
        elif kind == 1:
            gold, answer = str(value), f"{value:,}"
        elif kind == 2:
            gold, answer = f"{value / 100:.2f}", f"{value / 100:.2f}"
        else:
            bottom = rng.randrange(2, 50)
            gold, answer = f"{value}/{bottom}", f"\\frac{{{value}}}{{{bottom}}}"
        if rng.random() < 0.5:
            gold = f"{gold}1"
        items.append((f"{_WORDS}\nThe answer is $\\boxed{{{answer}}}$.", gold))
    return items


def _timed(function: Callable[[str, str], object], items: list[tuple[str, str]]):
    function(*items[0])  # imports and first-time work are not measured
    start = time.perf_counter()
    for text, gold in items:
        function(text, gold)
    return time.perf_counter() - start


def numbers(count: int) -> dict:
    """Both graders on ordinary numbers."""
    items = ordinary(count)
    ours = _timed(grade, items)
    theirs = _timed(symbolic.second_opinion, items)
    return {
        "items": count,
        "items_per_second": round(count / ours),
        "math_verify_items_per_second": round(count / theirs),
        "times_faster": round(theirs / ours, 1),
    }


def bank(path: pathlib.Path, deadline_s: float) -> dict:
    """Both graders on a file of cases."""
    rows = cases.read(str(path), "gold", "response")
    out: dict = {"cases": len(rows), "deadline_s": deadline_s}
    spent = {}
    for name, verifier in (("agrae_jax", "math"), ("math_verify", "math-verify")):
        with Pool(1, deadline_s, verifier=verifier, cache=1) as pool:
            pool.grade([("\\boxed{x + x}", "2x")])  # start-up is not measured
            verdicts, seconds = cases.grade(rows, pool)
        report = cases.summary(rows, verdicts, seconds)
        report.pop("by_kind", None)
        report["seconds"] = round(seconds, 2)
        report["deadline_hits"] = sum(v.rule == "deadline" for v in verdicts)
        spent[name] = [(v.ms, v.rule == "deadline") for v in verdicts]
        out[name] = report
    out["times_faster"] = round(
        out["math_verify"]["seconds"] / out["agrae_jax"]["seconds"], 1
    )
    kept = [
        (a[0], b[0])
        for a, b in zip(spent["agrae_jax"], spent["math_verify"], strict=True)
        if not a[1] and not b[1]
    ]
    out["times_faster_without_deadline_hits"] = round(
        sum(b for _, b in kept) / sum(a for a, _ in kept), 1
    )
    return out


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    folder = os.environ.get("AGRAE_SHARED_DATA", ".")
    parser.add_argument("--bank", default=os.path.join(folder, _BANK))
    parser.add_argument("--numbers", type=int, default=2000)
    parser.add_argument("--deadline_s", type=float, default=5.0)
    args = parser.parse_args()
    out: dict = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "numbers": numbers(args.numbers),
    }
    path = pathlib.Path(args.bank)
    if path.exists():
        out["bank"] = bank(path, args.deadline_s)
    else:
        out["bank"] = f"skipped: {path} does not exist, name it by --bank"
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
