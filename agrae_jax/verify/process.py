"""One grader process, seen from the parent: start, ask with a deadline, kill."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agrae_jax.verify.types import Verdict

_START_S = 120.0
_WALL_FACTOR = 20.0
_TICK_S = 0.05
_NO_KWARGS: Mapping[str, Any] = MappingProxyType({})
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT")
_ROOT = pathlib.Path(__file__).resolve().parents[2]


class Late(Exception):
    """The item exceeded its deadline; the worker was killed."""


class Died(Exception):
    """The worker ended while it held the item."""


def environment() -> dict[str, str]:
    """What a worker sees: nothing of accelerators, jax or the launching job."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    path = [str(_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    return kept | {
        "PYTHONPATH": ":".join(dict.fromkeys(path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "TPU_VISIBLE_CHIPS": "",
        "JAX_PLATFORMS": "cpu",
    }


def _why_not() -> str:
    """The last line that Python prints when a worker cannot be imported."""
    command = [sys.executable, "-c", "import agrae_jax.verify.worker"]
    done = subprocess.run(command, capture_output=True, env=environment(), check=False)
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "for no reason that shows again"


class Worker:
    """A running `python -m agrae_jax.verify.worker`."""

    def __init__(self, memory_bytes: int):
        self.served = 0
        self._rest = b""
        numbers = [str(memory_bytes), str(os.getpid())]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agrae_jax.verify.worker", *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            bufsize=0,
            start_new_session=True,  # a Ctrl-C is for the parent to handle
        )
        try:
            self._read(_START_S)
        except (Late, Died) as error:
            raise Died(f"the worker did not start: {_why_not()}") from error

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(
        self,
        verifier: str,
        text: str,
        gold: str,
        deadline_s: float,
        kwargs: Mapping[str, Any] = _NO_KWARGS,
    ) -> Verdict:
        """Grades one item; raises Late or Died, after which the worker is gone."""
        self.served += 1
        message = [self.served, verifier, dict(kwargs), text, gold]
        _, outcome, answer, span, *rest = self.request(message, deadline_s)
        return Verdict(outcome, answer, tuple(span) if span else None, *rest)

    def request(self, message: list, deadline_s: float) -> list:
        """Sends one message and returns its reply."""
        line = memoryview((json.dumps(message) + "\n").encode())
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while line:
                written = stdin.write(line)
                line = line[written or 0 :]
        except (BrokenPipeError, OSError) as error:
            self.kill()
            raise Died("the worker died") from error
        return self._read(deadline_s)

    def _read(self, deadline_s: float) -> list:
        stdout = self._process.stdout
        assert stdout is not None
        begun, used = time.monotonic(), self.cpu_seconds()
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            if newline:
                self._rest = rest
                return json.loads(line)
            ready, _, _ = select.select([stdout], [], [], _TICK_S)
            if ready:
                try:
                    data = os.read(stdout.fileno(), 1 << 16)
                except (OSError, ValueError):
                    data = b""
                if not data:
                    self.kill()
                    raise Died("the worker died")
                self._rest += data
                continue
            waited = time.monotonic() - begun
            spent = self.cpu_seconds()
            spent = waited if spent is None or used is None else spent - used
            if spent > deadline_s or waited > _WALL_FACTOR * deadline_s:
                self.kill()
                raise Late(f"more than {deadline_s:g} s")

    def cpu_seconds(self) -> float | None:
        """Processor time used so far; None where /proc does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return None

    def kill(self) -> None:
        """Ends the process at once and waits for it."""
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(Exception):
            self._process.wait(timeout=10)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
