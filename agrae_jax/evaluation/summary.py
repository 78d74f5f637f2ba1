"""Numbers of an evaluation from its per-problem records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agrae_jax.rl.intervals import bootstrap_mean
from agrae_jax.rl.pass_at_k import majority, pass_at_k

Record = dict[str, Any]
Table = dict[str, np.ndarray]  # k -> a value a problem


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... up to `limit`."""
    return [2**i for i in range(limit.bit_length()) if 2**i <= limit]


def pass_table(records: Sequence[Record]) -> Table:
    """Per-problem unbiased pass@k for every power of two up to n: {"1": [..], ..}.

    n of a problem is its number of gradable samples; k goes up to the smallest n.
    """
    graded = [r for r in records if r["valid"]]
    n = np.array([r["valid"] for r in graded])
    c = np.array([r["correct"] for r in graded])
    return {str(k): pass_at_k(n, c, k) for k in _ks(graded)}


def majority_table(records: Sequence[Record]) -> Table:
    """Per-problem maj@k for the same k, exact; {} for records without votes."""
    graded = [r for r in records if r["valid"]]
    if not all("votes" in r for r in graded):
        return {}

    def one(record: Record, k: int) -> float:
        gold, *rivals = record["votes"]
        return majority(gold, rivals, record["valid"], k)

    return {str(k): np.array([one(r, k) for r in graded]) for k in _ks(graded)}


def summarize(records: Sequence[Record]) -> dict[str, Any]:
    """Means with question-level bootstrap intervals, overall, by level and subject."""
    if not records:
        return {"problems": 0}
    tables = pass_table(records)
    out: dict[str, Any] = {
        "problems": len(records),
        "samples": records[0]["samples"],
        "pass@k": {k: interval(v) for k, v in tables.items()},
        "maj@k": {k: interval(v) for k, v in majority_table(records).items()},
        # The mean share of right samples: pass@1 by another name.
        "avg@n": interval(tables["1"]) if tables else None,
        "greedy": _greedy(records),
        "by_level": _by(records, lambda r: r["level"]),
        "by_subject": _by(records, lambda r: r.get("subject") or ""),
    }
    total = {k: sum(r[k] for r in records) for k in _TOTALS}
    samples, tokens = total["samples"], total["tokens"]
    return out | {
        "answered": total["answered"] / samples,
        "truncated": total["truncated"] / samples,
        "ungradable": 1 - total["valid"] / samples,
        "mean_tokens": tokens / samples,
        "mean_entropy": total["entropy_sum"] / max(tokens, 1),
    }


_TOTALS = ("samples", "valid", "answered", "truncated", "tokens", "entropy_sum")


def interval(values: np.ndarray) -> dict[str, float]:
    """The mean of per-problem values and its 95 % bootstrap interval."""
    mean, low, high = bootstrap_mean(values)
    return {"mean": mean, "low": low, "high": high}


def metric(result: dict[str, Any], name: str) -> float | None:
    """One number of a result by name: pass@4, maj@8, greedy, mean_entropy, ..

    None where the result has no such number.
    """
    kind, at, k = name.partition("@")
    value = result.get(f"{kind}@k", {}).get(k) if at and k != "n" else result.get(name)
    return value["mean"] if isinstance(value, dict) else value


def _greedy(records: Sequence[Record]) -> dict[str, float] | None:
    rows = [r["greedy"] for r in records if "greedy" in r]
    graded = [row["outcome"] == "correct" for row in rows if row["outcome"] != _LOST]
    if not graded:
        return None
    tokens = sum(row["tokens"] for row in rows)
    return interval(np.array(graded, np.float64)) | {
        "truncated": sum(row["truncated"] for row in rows) / len(rows),
        "mean_tokens": tokens / len(rows),
        "mean_entropy": sum(row["entropy_sum"] for row in rows) / max(tokens, 1),
    }


_LOST = "ungradable"


def _by(records: Sequence[Record], key: Callable[[Record], str]) -> dict[str, Any]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return {
        name: {k: float(v.mean()) for k, v in pass_table(groups[name]).items()}
        for name in sorted(groups, key=str)
    }


def _ks(graded: Sequence[Record]) -> list[int]:
    return powers_of_two(min(r["valid"] for r in graded)) if graded else []
