"""Tables of pass@k over runs and seeds, with paired differences to the first run.

Units are stated beside every number. Intervals and sign flips are over questions: a
question's pass@k is averaged over the seeds that both runs have, and the interval is
a question-level bootstrap of the paired difference. The t-test is over seeds. Both
p-values are adjusted over k by Holm's step-down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agrae_jax.rl.intervals import (
    bootstrap_difference,
    bootstrap_mean,
    holm,
    paired_t,
    sign_flip,
)
from agrae_jax.rl.pass_at_k import pass_at_k

Rows = Mapping[tuple[str, int], Sequence[Mapping[str, int]]]


def ks_of(rows: Rows) -> list[int]:
    """Powers of two up to the fewest samples that any problem has."""
    least = min(p["valid"] for problems in rows.values() for p in problems)
    return [2**i for i in range(least.bit_length()) if 2**i <= least]


def matrix(rows: Rows, label: str, k: int, seeds: Sequence[int]) -> np.ndarray:
    """pass@k, [seed, question]; questions are those that every run has."""
    shared = set.intersection(*({p["problem"] for p in r} for r in rows.values()))
    out = []
    for seed in seeds:
        kept = [p for p in rows[label, seed] if p["problem"] in shared]
        kept = sorted(kept, key=lambda p: p["problem"])
        n, c = ([p[name] for p in kept] for name in ("valid", "correct"))
        out.append(pass_at_k(n, c, k))
    return np.array(out)


def seeds_of(rows: Rows, *labels: str) -> list[int]:
    """Seeds that all of these runs have."""
    return sorted(
        set.intersection(*({s for name, s in rows if name == x} for x in labels))
    )


def report(rows: Rows, order: Sequence[str]) -> str:
    """The table of means, and of differences to the first run that is there."""
    labels = [label for label in order if seeds_of(rows, label)]
    ks = ks_of(rows)
    lines = ["pass@k in percent: mean over seeds and questions, 95 % over questions"]
    for label in labels:
        seeds = seeds_of(rows, label)
        cells = []
        for k in ks:
            per_question = matrix(rows, label, k, seeds).mean(0)
            mean, low, high = (100 * x for x in bootstrap_mean(per_question))
            cells.append(f"@{k} {mean:.1f} [{low:.1f}, {high:.1f}]")
        lines.append(f"  {label} ({len(seeds)} seeds): " + ", ".join(cells))
    base, *others = labels
    for label in others:
        lines += _compared(rows, label, base, ks)
    return "\n".join(lines) + "\n"


def _compared(rows: Rows, label: str, base: str, ks: Sequence[int]) -> list[str]:
    seeds = seeds_of(rows, label, base)
    if not seeds:
        return [f"  {label} - {base}: no seed in common"]
    estimates, flips, tests = [], [], []
    for k in ks:
        a, b = matrix(rows, label, k, seeds), matrix(rows, base, k, seeds)
        estimates.append(bootstrap_difference(a.mean(0), b.mean(0)))
        flips.append(sign_flip(a.mean(0), b.mean(0)))
        if len(seeds) > 1:
            tests.append(paired_t(a.mean(1), b.mean(1)).p)
    over_questions, over_seeds = holm(flips), holm(tests) if tests else []
    lines = [
        f"  {label} - {base}: {len(seeds)} paired seeds; p by sign flips over"
        f" {matrix(rows, base, ks[0], seeds).shape[1]} questions, by paired t over"
        f" {len(seeds)} seeds; Holm over {len(ks)} k"
    ]
    for i, k in enumerate(ks):
        mean, low, high = (100 * x for x in estimates[i])
        t = f"{over_seeds[i]:.3f}" if len(over_seeds) else "one seed"
        lines.append(
            f"    @{k}: {mean:+.1f} [{low:+.1f}, {high:+.1f}],"
            f" p {over_questions[i]:.3f} (questions), {t} (seeds);"
            f" effects under about {(high - low) / 2:.1f} points go unseen"
        )
    return lines


def expected_table(expected: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> str:
    """The paper's cells, and what is known to be wrong with them."""
    lines = ["The paper's cells (percent):"]
    for row in expected:
        cells = [f"@{k[5:]} {v}" for k, v in row.items() if k.startswith("pass@")]
        lines.append(f"  {row['benchmark']} {row['method']}: " + ", ".join(cells))
    if expected:
        lines.append(f"  from: {expected[0]['table']}, {expected[0]['model']}")
    return "\n".join([*lines, *(f"  note: {note}" for note in notes)])


def against(rows: Rows, expected: Sequence[Mapping[str, Any]]) -> str:
    """Ours minus the paper's, where the runs are at its scale; by benchmark."""
    lines = ["Ours - the paper's, in points (one test set a run: name it yourself):"]
    ks = [k for k in ks_of(rows) if f"pass@{k}" in (expected[0] if expected else {})]
    for row in expected:
        seeds = seeds_of(rows, row["method"])
        if seeds:
            ours = [100 * matrix(rows, row["method"], k, seeds).mean() for k in ks]
            cells = [
                f"@{k} {x - float(row[f'pass@{k}']):+.1f}"
                for k, x in zip(ks, ours, strict=True)
            ]
            lines.append(f"  {row['benchmark']} {row['method']}: " + ", ".join(cells))
    return "\n".join(lines) + "\n"


def pass_at_k_series(rows: Rows, order: Sequence[str]) -> dict[str, Any]:
    """A figure of pass@k against k, one line a run."""
    ks = ks_of(rows)
    lines = {
        label: [matrix(rows, label, k, seeds_of(rows, label)).mean() for k in ks]
        for label in order
        if seeds_of(rows, label)
    }
    return {"x": ks, "xlabel": "k", "log": True, "panels": {"pass@k": lines}}
