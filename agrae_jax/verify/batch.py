"""A batch of items that is being graded: what `Pool.submit` hands back."""

from __future__ import annotations

import concurrent.futures
import dataclasses

from agrae_jax.verify.types import Extracted, Verdict


class Batch:
    """Items being graded; `result()` waits and returns their verdicts in order."""

    def __init__(self, parts: list[Part]):
        self._parts = parts

    def done(self) -> bool:
        """Whether `result()` would return at once."""
        return all(p.future.done() for p in self._parts)

    def result(self) -> list[Verdict]:
        """The verdicts, in the order of the items."""
        return [p.verdict() for p in self._parts]


class Part:
    """One item of a batch: where its answer stands, and the decision to come."""

    def __init__(self, found: Extracted | None, future: concurrent.futures.Future):
        self.found, self.future = found, future

    def verdict(self) -> Verdict:
        """The decision with the answer it was made about; waits for it."""
        verdict: Verdict = self.future.result()
        if self.found is None:
            return verdict
        return dataclasses.replace(
            verdict, answer=self.found.answer, span=self.found.span
        )


def finished(verdict: Verdict) -> concurrent.futures.Future:
    """A future that holds its verdict already."""
    future: concurrent.futures.Future = concurrent.futures.Future()
    future.set_result(verdict)
    return future
