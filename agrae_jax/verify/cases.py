"""Files of cases: read, grade through the pool, summarise."""

from __future__ import annotations

import collections
import json
import pathlib
import time
from collections.abc import Sequence
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.verify.pool import Pool
from agrae_jax.verify.types import CORRECT, UNGRADABLE, Verdict

Row = dict[str, Any]


def read(path: str, *required: str) -> list[Row]:
    """Returns the rows of a JSON-lines file; raises UserError naming file and line."""
    rows = []
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} line {number} is no JSON: {error}") from error
        missing = [f for f in required if not isinstance(row, dict) or f not in row]
        if missing:
            raise UserError(f"{path} line {number} lacks the field {missing[0]!r}")
        if row.get("expected", True) is None:
            del row["expected"]  # not known
        elif not isinstance(row.get("expected", True), bool):
            raise UserError(f"{path} line {number}: expected must be true or false")
        rows.append(row)
    if not rows:
        raise UserError(f"{path} has no cases: one JSON object a line is needed")
    return rows


def grade(rows: Sequence[Row], pool: Pool) -> tuple[list[Verdict], float]:
    """The verdicts of {"gold", "response"} rows, and the seconds that they took."""
    start = time.perf_counter()
    verdicts = pool.grade([(str(r["response"]), str(r["gold"])) for r in rows])
    return verdicts, time.perf_counter() - start


def record(row: Row, verdict: Verdict) -> Row:
    """One line of the output file."""
    out: Row = {
        "id": row.get("id"),
        "outcome": verdict.outcome,
        "answer": verdict.answer,
        "span": verdict.span,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "ms": round(verdict.ms, 3),
    }
    if "expected" in row:
        out["expected"] = row["expected"]
        out["right"] = verdict.correct == bool(row["expected"])
    return out


def summary(rows: Sequence[Row], verdicts: Sequence[Verdict], seconds: float) -> Row:
    """Rates and times; accuracy and errors over the rows whose `expected` is known.

    A false positive is a verdict "correct" that should not be; its rate is over all
    rows with `expected`, as is that of false negatives. An ungradable verdict counts
    as not correct.
    """
    times = sorted(v.ms for v in verdicts)
    outcomes = collections.Counter(v.outcome for v in verdicts)
    known = [(r, v) for r, v in zip(rows, verdicts, strict=True) if "expected" in r]
    out: Row = {
        "cases": len(rows),
        "correct": outcomes[CORRECT],
        "ungradable": outcomes[UNGRADABLE],
        "p50_ms": round(_percentile(times, 0.5), 3),
        "p99_ms": round(_percentile(times, 0.99), 3),
        "max_ms": round(times[-1], 3),
        "items_per_second": round(len(rows) / seconds, 1) if seconds else None,
    }
    if known:
        out |= _rates(known)
        kinds = sorted({str(r.get("kind", "")) for r, _ in known})
        out["by_kind"] = {
            kind: _rates([k for k in known if str(k[0].get("kind", "")) == kind])
            for kind in kinds
            if kind
        }
    return out


def _rates(known: Sequence[tuple[Row, Verdict]]) -> Row:
    false_positives = sum(v.correct and not r["expected"] for r, v in known)
    false_negatives = sum(bool(r["expected"]) and not v.correct for r, v in known)
    count = len(known)
    return {
        "known": count,
        "accuracy": round(1 - (false_positives + false_negatives) / count, 5),
        "false_positives": false_positives,
        "false_positive_rate": round(false_positives / count, 5),
        "false_negatives": false_negatives,
        "false_negative_rate": round(false_negatives / count, 5),
    }


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
