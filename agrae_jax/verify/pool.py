"""Grades batches in persistent worker processes, in order, never hanging.

The parent finds the answers and decides what needs no parser (ordinary numbers, no
answer, repeated pairs); the rest goes to workers, which are started when first needed.
An item that exceeds its deadline costs its worker and nothing else. The deadline is
processor time of the worker, so a busy machine changes no verdict; wall time bounds
it twenty times later.
"""

from __future__ import annotations

import collections
import concurrent.futures
import queue
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agrae_jax.verify import grade as grading
from agrae_jax.verify.batch import Batch, Part, finished
from agrae_jax.verify.extract import extract
from agrae_jax.verify.process import Died, Late, Worker
from agrae_jax.verify.types import UNGRADABLE, Verdict

Decision = tuple[str, str, str]
Pair = tuple[str, str]
_RECYCLE_AFTER = 5_000
_RECYCLE_AFTER_CPU_S = 3600.0
_KEPT_TIMES = 10_000


class Pool:
    """Worker processes that grade.

    `deadline_s` bounds the processor time of one item. `verifier` and `kwargs` are
    what `verifiers.resolve` takes. `known` are verdicts of an earlier run, as
    `deadline_hits()` gave them, so that a resumed run repeats its verdicts.
    """

    def __init__(
        self,
        workers: int = 2,
        deadline_s: float = 5.0,
        *,
        verifier: str = "math",
        kwargs: Mapping[str, Any] = MappingProxyType({}),
        cache: int = 100_000,
        memory_bytes: int = 2 << 30,
        known: Iterable[Sequence[str]] = (),
    ):
        self._deadline, self._verifier, self._kwargs = (
            deadline_s,
            verifier,
            dict(kwargs),
        )
        self._strict = self._kwargs.get("strict", True)
        self._rounding = self._kwargs.get("rounding", 0)
        self._memory, self._size = memory_bytes, max(1, workers)
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._workers: set[Worker] = set()
        self._pending: set[concurrent.futures.Future] = set()
        self._closed = False
        self._limit = cache
        self._cache: collections.OrderedDict[Pair, concurrent.futures.Future] = (
            collections.OrderedDict()
        )
        self._hits: dict[Pair, Decision] = {}
        self._counts: collections.Counter[str] = collections.Counter()
        self._times: collections.deque[float] = collections.deque(maxlen=_KEPT_TIMES)
        self._busy_s = 0.0
        for gold, text, rule, reason in known:
            self._hits[(gold, text)] = (UNGRADABLE, rule, reason)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def grade(self, items: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Grades (text, gold) pairs; the verdicts come in the same order."""
        return self.submit(items).result()

    def submit(self, items: Sequence[tuple[str, str]]) -> Batch:
        """Starts grading (text, gold) pairs and returns at once."""
        if self._closed:
            raise RuntimeError("the pool is closed")
        start = time.perf_counter()
        parts = [self._part(text, gold) for text, gold in items]
        with self._lock:
            self._counts["items"] += len(items)
            self._busy_s += time.perf_counter() - start
        return Batch(parts)

    def _part(self, text: str, gold: str) -> Part:
        if self._verifier != "math":
            return Part(None, self._job(gold, text))
        start = time.perf_counter()
        found = extract(text, strict=self._strict)
        answer = found.answer if found else None
        decision = grading.quick(gold, answer)
        if decision is None or (self._rounding and decision[1] == "number"):
            assert answer is not None
            return Part(found, self._job(gold, answer))
        ms = (time.perf_counter() - start) * 1e3
        self._count(decision[0], "quick", ms)
        return Part(
            found, finished(Verdict(decision[0], None, None, *decision[1:], ms))
        )

    def _job(self, gold: str, text: str) -> concurrent.futures.Future:
        """The future of a pair, shared by all its repetitions."""
        pair = (gold, text)
        with self._lock:
            hit = self._hits.get(pair)  # kept, whatever the cache has dropped since
            if hit is not None:
                return finished(Verdict(hit[0], None, None, *hit[1:], 0.0))
            known = self._cache.get(pair)
            if known is not None:
                self._cache.move_to_end(pair)
                self._counts["cached"] += 1
                return known
            future: concurrent.futures.Future = concurrent.futures.Future()
            self._cache[pair] = future
            self._pending.add(future)
            while len(self._cache) > self._limit:
                self._cache.popitem(last=False)
            self._jobs.put((pair, future))
            if len(self._threads) < self._size:
                thread = threading.Thread(target=self._serve, daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _serve(self) -> None:
        """One thread per worker: hands out items, replaces what died."""
        worker: Worker | None = None
        while True:
            job = self._jobs.get()
            if job is None or self._closed:
                break
            pair, future = job
            try:
                if worker is None or _spent(worker):
                    worker = self._replace(worker)
                try:
                    verdict = self._asked(worker, pair)
                except Died:  # killed from outside? then the item is not to blame
                    if self._closed:
                        raise
                    worker = self._replace(worker)
                    verdict = self._asked(worker, pair)
                if verdict.rule == "memory":  # what the item left goes with the process
                    worker.kill()
            except Late as late:
                verdict = self._lost(pair, "deadline", str(late))
            except Died as died:
                verdict = self._lost(pair, "worker", str(died))
            except Exception as error:  # the pool's own fault: say so, go on
                verdict = self._lost(pair, "error", f"{type(error).__name__}: {error}")
            if self._closed and verdict.outcome == UNGRADABLE:
                break  # killed by close(), which answers for it
            self._count(verdict.outcome, verdict.rule, verdict.ms)
            self._finish(pair, future, verdict)
        if worker is not None:
            worker.kill()

    def _finish(
        self, pair: Pair, future: concurrent.futures.Future, verdict: Verdict
    ) -> None:
        with self._lock:
            if verdict.rule in ("worker", "error", "closed"):
                self._cache.pop(pair, None)  # no property of the pair
            if future in self._pending:
                self._pending.discard(future)
                future.set_result(verdict)

    def _asked(self, worker: Worker, pair: Pair) -> Verdict:
        gold, text = pair
        name, kwargs = self._verifier, self._kwargs
        if name == "math":  # the answer was found here already
            name, kwargs = "answer", {"rounding": self._rounding}
        return worker.ask(name, text, gold, self._deadline, kwargs)

    def _replace(self, worker: Worker | None) -> Worker:
        if worker is not None:
            worker.kill()
            self._workers.discard(worker)
        fresh = Worker(self._memory)
        with self._lock:
            self._counts["workers_started"] += 1
            self._workers.add(fresh)
        if self._closed:
            fresh.kill()
        return fresh

    def _lost(self, pair: Pair, rule: str, reason: str) -> Verdict:
        if rule == "deadline":
            self._hits[pair] = (UNGRADABLE, rule, reason)
        return Verdict(UNGRADABLE, None, None, rule, reason, self._deadline * 1e3)

    def _count(self, outcome: str, rule: str, ms: float) -> None:
        with self._lock:
            self._counts[f"outcome_{outcome}"] += 1
            if rule in ("quick", "deadline", "worker", "memory", "error"):
                self._counts[rule] += 1
            self._times.append(ms)

    def deadline_hits(self) -> list[list[str]]:
        """[gold, text, rule, reason] of items that hit the deadline, for `known`."""
        return [[*pair, *d[1:]] for pair, d in self._hits.items()]

    def stats(self) -> dict[str, float]:
        """Counts since the start, and p50, p99 and largest ms of the last items."""
        with self._lock:
            times = sorted(self._times)
            out: dict[str, float] = dict(self._counts)
        for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99), ("max_ms", 1.0)):
            at = min(len(times) - 1, int(share * len(times)))
            out[name] = round(times[at], 4) if times else 0.0
        return out

    def close(self) -> None:
        """Ends the workers; items still waiting become ungradable."""
        if self._closed:
            return
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for worker in list(self._workers):
            worker.kill()
        for thread in self._threads:
            thread.join(timeout=10)
        lost = Verdict(UNGRADABLE, None, None, "closed", "the pool was closed", 0.0)
        for future in list(self._pending):
            self._finish(("", ""), future, lost)


def _spent(worker: Worker) -> bool:
    """Whether a worker is gone, or should be before what it has used costs an item."""
    old = worker.served >= _RECYCLE_AFTER or (
        (worker.cpu_seconds() or 0.0) > _RECYCLE_AFTER_CPU_S
    )
    return old or not worker.alive()
