"""The grader of a run: its pool of workers, and what it keeps in the run directory.

verify/deadlines.jsonl    pairs that hit the deadline: a resumed run repeats the verdict
verify/ungradable.jsonl   every completion that left the statistics, and why
verify/audit.jsonl        verdicts that a second grader disagrees with
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agrae_jax.data.batches import HostBatch
from agrae_jax.distributed import local_rows
from agrae_jax.errors import UserError
from agrae_jax.grading import DecodeFn
from agrae_jax.metrics import TIME
from agrae_jax.run_directory import RunDirectory
from agrae_jax.step import Seen
from agrae_jax.verify.audit import SecondOpinion
from agrae_jax.verify.pool import Batch, Pool
from agrae_jax.verify.types import UNGRADABLE, Verdict

Items = Sequence[tuple[str, str]]  # (completion, reference answer)
_HIT = ("gold", "text", "rule", "reason")
DEADLINES, UNGRADED, AUDIT = "deadlines.jsonl", "ungradable.jsonl", "audit.jsonl"


class Grader:
    """Grades with the verifier that a config names; use it as a context.

    With `record`, what has to be known later is written below `run`; without it, the
    run is only read, as evaluation beside a training run does.
    """

    def __init__(self, config: Any, run: RunDirectory, *, record: bool = True):
        self._config = config.verify
        self._folder, self._record = run.path / "verify", record
        self.pool = Pool(
            workers=self._config.workers,
            deadline_s=self._config.deadline_s,
            verifier=self._config.verifier,
            kwargs=dict(self._config.kwargs),
            known=self._known(),
        )
        self._saved = len(self.pool.deadline_hits())
        share = self._config.audit
        deadline_s = self._config.deadline_s
        self._second = SecondOpinion(share, deadline_s) if share and record else None

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()
        if self._second:
            self._second.close()

    def submit(self, items: Items) -> Batch:
        """Starts grading and returns at once; `grade` finds the verdicts made."""
        return self.pool.submit(items)

    def grade(self, items: Items) -> list[Verdict]:
        """Grades in order; a deadline hit is on disk before its verdict is used."""
        verdicts = self.pool.grade(items)
        hits = self.pool.deadline_hits()
        if self._record and len(hits) > self._saved:
            fresh = hits[self._saved :]
            self._append(DEADLINES, [self._hit(hit) for hit in fresh])
            self._saved = len(hits)
        return verdicts

    def grade_rollout(self, items: Items) -> list[Verdict]:
        """As `grade`, and hands a sample of the verdicts to the second grader."""
        verdicts = self.grade(items)
        if self._second:
            self._second.submit(items, verdicts)
        return verdicts

    def end_step(
        self, step: int, batch: HostBatch, seen: Seen, decode: DecodeFn, seconds: float
    ) -> dict[str, Any]:
        """Writes what the step leaves behind; returns its metrics."""
        verdicts = [verdict for row in seen.verdicts for verdict in row]
        lost = _ungradable(step, batch, seen, decode)
        self._append(UNGRADED, lost)
        hits = sum(verdict.rule == "deadline" for verdict in verdicts)
        out: dict[str, Any] = {"deadline_hits": hits}
        out |= latency([verdict.ms for verdict in verdicts], seconds)
        started = self.pool.stats().get("workers_started", 0)
        out[f"{TIME}verify_workers_started"] = started
        if self._second:
            compared, unanswered, found = self._second.collect(step)
            self._append(AUDIT, found)
            out |= {"audit_compared": compared, "audit_disagreed": len(found)}
            out |= {"audit_unanswered": unanswered}
        return out

    def _known(self) -> list[list[str]]:
        """Hits of this verifier, under a deadline that was no shorter than today's."""
        path = self._folder / DEADLINES
        if not path.exists():
            return []
        text = path.read_text(encoding="ascii", errors="replace")
        whole = text[: text.rfind("\n") + 1]  # a kill may have torn the last line
        if self._record and whole != text:
            os.truncate(path, len(whole))
        try:
            rows = [json.loads(line) for line in whole.splitlines()]
            return [
                [row[name] for name in _HIT]
                for row in rows
                if row["deadline_s"] >= self._config.deadline_s
                and row["verifier"] == self._verifier
            ]
        except (ValueError, LookupError, TypeError) as error:
            raise UserError(
                f"{path} is damaged ({type(error).__name__}): mend or remove it;"
                " without it a verdict that hit the deadline may come out otherwise"
            ) from error

    @property
    def _verifier(self) -> str:
        return f"{self._config.verifier} {json.dumps(dict(self._config.kwargs))}"

    def _hit(self, hit: Sequence[str]) -> dict[str, Any]:
        which = {"verifier": self._verifier, "deadline_s": self._config.deadline_s}
        return dict(zip(_HIT, hit, strict=True)) | which

    def _append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = "".join(json.dumps(dict(row)) + "\n" for row in rows)
        path = self._folder / name
        try:
            if lines:
                self._folder.mkdir(exist_ok=True)
                with path.open("a", encoding="ascii") as file:
                    file.write(lines)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error


def latency(ms: Sequence[float], seconds: float) -> dict[str, float]:
    """Completions graded a second of waiting for them, and the tail of their times."""
    ordered = sorted(ms) or [0.0]
    out = {f"{TIME}verify_items_per_s": len(ms) / max(seconds, 1e-9)}
    for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
        at = min(len(ordered) - 1, int(share * len(ordered)))
        out[f"{TIME}verify_{name}_ms"] = ordered[at]
    return out


def _ungradable(
    step: int, batch: HostBatch, seen: Seen, decode: DecodeFn
) -> list[dict[str, Any]]:
    completion = local_rows(seen.rollout.completion_BGT)
    length = local_rows(seen.rollout.length_BG)
    return [
        {
            "step": step,
            "id": batch.problems[b].id,
            "gold": batch.problems[b].answer,
            "sample": g,
            "rule": verdict.rule,
            "reason": verdict.reason,
            "answer": verdict.answer,
            "completion": decode(completion[b, g, : length[b, g]].tolist()),
        }
        for b, row in enumerate(seen.verdicts)
        for g, verdict in enumerate(row)
        if verdict.outcome == UNGRADABLE
    ]
