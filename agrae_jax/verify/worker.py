"""A grader process: `python -m agrae_jax.verify.worker`, one JSON line per item.

Reads `[number, verifier, kwargs, text, gold]` and answers `[number, outcome, answer,
span, rule, reason, ms, format_ok]`. It imports no jax, sees no accelerator, may not
write files, and ends when its parent does.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import threading
import time
from typing import Any

from agrae_jax.verify import grade, symbolic, verifiers
from agrae_jax.verify.types import UNGRADABLE, Verdict

MEMORY_BYTES = 2 << 30
CPU_SECONDS = 4 * 3600  # a worker is replaced long before, see pool.py


def main() -> None:
    """Serves items from stdin until it closes."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1)
    os.dup2(2, 1)  # a stray print must not look like a reply
    limit(int(sys.argv[1]) if len(sys.argv) > 1 else MEMORY_BYTES)
    _end_with_parent(int(sys.argv[2]) if len(sys.argv) > 2 else os.getppid())
    symbolic.mp()  # imported now, so that no item pays for it
    replies.write(json.dumps(["ready", "jax" in sys.modules]) + "\n")
    for line in sys.stdin.buffer:
        number, verifier, kwargs, text, gold = json.loads(line)
        if verifier == "modules":  # asked by a test
            replies.write(json.dumps([number, sorted(sys.modules)]) + "\n")
            continue
        verdict = serve(verifier, text, gold, kwargs)
        reply = [number, verdict.outcome, verdict.answer, verdict.span, verdict.rule,
                 verdict.reason, verdict.ms, verdict.format_ok]  # fmt: skip
        replies.write(json.dumps(reply) + "\n")


def serve(verifier: str, text: str, gold: str, kwargs: dict[str, Any]) -> Verdict:
    """Grades one item; whatever goes wrong in it is an ungradable verdict."""
    start = time.perf_counter()
    try:
        return verifiers.resolve(verifier, **kwargs)(text, gold)
    except MemoryError:
        outcome, rule, reason = UNGRADABLE, "memory", "out of memory"
    except Exception as error:  # a verifier's own fault is never a wrong answer
        outcome, rule = UNGRADABLE, "error"
        reason = f"{type(error).__name__}: {error}"[:200]
    ms = (time.perf_counter() - start) * 1e3
    return Verdict(outcome, None, None, rule, reason, ms)


def limit(memory_bytes: int) -> None:
    """Bounds memory, processor time, open files, and forbids writing files."""
    grade.prepare_process()
    for what, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (value, value))


def _end_with_parent(parent: int) -> None:
    """`parent` is told, not asked: it may have died before this process got here."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
