"""Asked to end: SIGTERM, Ctrl-C or a maintenance notice leads to a saved run.

The first request is remembered; the loop calls `check` where its state is whole, saves
what it gets there and exits with `errors.PREEMPTED`. A second signal, or the end of
the grace, ends the process at once: the last checkpoint on disk is whole all the same.
"""

from __future__ import annotations

import http.client
import os
import select
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from types import FrameType
from typing import Any

from agrae_jax import distributed
from agrae_jax.errors import Preempted

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_QUIET = "NONE"  # what Google's metadata server answers while nothing is planned
_POLL_S, _REPLY_S = 5.0, 2.0
_LONGEST_S = 3600.0  # of one wait: the system takes no number of seconds


class Notice:
    """Listens for requests to end; use it as a context, on the main thread.

    Args:
      grace_s: seconds between the first request and the end of the process.
      url: polled every five seconds, "" for none; an answer other than NONE is a
        request. Google's metadata server has one: instance/maintenance-event.
      say: receives one line a request.
      leave: ends the process at once with this code.
    """

    def __init__(
        self,
        *,
        grace_s: float,
        url: str = "",
        say: Callable[[str], None] = print,
        leave: Callable[[int], Any] = os._exit,
    ):
        self.reason = ""  # not empty: asked to end
        self._grace_s, self._url, self._say, self._leave = grace_s, url, say, leave
        self._deadline: float | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._former: dict[int, Any] = {}

    def check(self) -> None:
        """Raises `Preempted` once the process has been asked to end."""
        if self.reason:
            raise Preempted(f"asked to end by {self.reason}")

    def check_together(self) -> None:
        """As `check`, but in all processes as soon as one has been asked: all must
        call, since one that goes leaves the others waiting."""
        reasons = distributed.gather(self.reason)
        self.reason = next(filter(None, reasons), self.reason)
        self.check()

    def __enter__(self) -> Notice:
        # A Python handler runs between two bytecodes, and one XLA program may take
        # minutes. The system writes the signal's number here at once, whatever the
        # main thread does, and another thread reads it.
        self._in, self._out = socket.socketpair()
        self._out.setblocking(False)
        self._fd = signal.set_wakeup_fd(self._out.fileno(), warn_on_full_buffer=False)
        for number in _SIGNALS:
            self._former[number] = signal.signal(number, _remembered)
        threading.Thread(target=self._listen, daemon=True).start()
        if self._url:
            threading.Thread(target=self._poll, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd)
        self._closed.set()
        self._out.close()  # ends the listener

    def _listen(self) -> None:
        while True:
            left = None
            if self._deadline is not None:
                left = self._deadline - time.monotonic()
                left = min(max(0.0, left), _LONGEST_S)
            ready, _, _ = select.select([self._in], [], [], left)
            if self._closed.is_set():
                self._in.close()
                return
            if not ready and time.monotonic() < (self._deadline or 0):
                continue
            if not ready:
                self._say(
                    f"the grace of {self._grace_s:g} s (checkpoint.grace_s) is over:"
                    " ending now; the last checkpoint holds"
                )
                self._leave(128 + signal.SIGTERM)
                return
            for number in self._in.recv(64):
                if number in _SIGNALS:
                    self._ask(signal.Signals(number).name, again=128 + number)

    def _poll(self) -> None:
        reached = False
        while not self._closed.wait(_POLL_S if reached else 0):
            try:
                request = urllib.request.Request(
                    self._url, headers={"Metadata-Flavor": "Google"}
                )
                if request.type not in ("http", "https"):  # no file is to be read
                    raise ValueError("it must begin with http:// or https://")
                with urllib.request.urlopen(request, timeout=_REPLY_S) as reply:
                    told = _line(reply.read(200))
            except (OSError, ValueError, http.client.HTTPException) as error:
                self._say(f"checkpoint.notice_url cannot be read, so not used: {error}")
                return
            reached = True
            if told != _QUIET:
                self._ask(told)
                with self._lock:
                    if self._out.fileno() != -1:
                        self._out.send(b"\0")  # the listener looks at the deadline
                return

    def _ask(self, reason: str, *, again: int = 0) -> None:
        with self._lock:
            if self.reason:
                if again:
                    self._say(f"{reason} again: ending now; the last checkpoint holds")
                    self._leave(again)
                return
            self.reason = reason
            self._deadline = time.monotonic() + self._grace_s
        self._say(
            f"{reason}: saving at the end of this phase, at most {self._grace_s:g} s;"
            " another signal ends at once"
        )


def _line(reply: bytes) -> str:
    """What can be shown of an answer; not empty, since it is the reason to end."""
    text = " ".join(reply.decode(errors="replace").split())
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown or "an empty maintenance notice"


def _remembered(number: int, frame: FrameType | None) -> None:
    """The handler proper has nothing to do: the listener has heard already."""
