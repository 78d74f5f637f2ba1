"""SIGTERM, a second signal, the end of the grace and a maintenance notice."""

import http.server
import os
import signal
import threading
import time

import pytest

from agrae_jax import preemption
from agrae_jax.errors import PREEMPTED, Preempted
from agrae_jax.preemption import Notice


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def made(**options):
    lines, codes = [], []
    options = {"grace_s": 30.0, "say": lines.append, "leave": codes.append} | options
    return Notice(**options), lines, codes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_and_the_second_ends_at_once(number):
    notice, lines, codes = made()
    with notice:
        notice.check()
        os.kill(os.getpid(), number)
        until(lambda: lines)
        with pytest.raises(Preempted, match=f"by {number.name}") as caught:
            notice.check()
        assert caught.value.exit_code == PREEMPTED == 3
        assert f"{number.name}: saving" in lines[0] and codes == []
        os.kill(os.getpid(), number)
        until(lambda: codes)
    assert codes == [128 + number]


def test_the_end_of_the_grace_ends_at_once():
    notice, lines, codes = made(grace_s=0.2)
    with notice:
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: codes)
    assert codes == [143] and "grace of 0.2 s (checkpoint.grace_s) is over" in lines[-1]


@pytest.fixture
def interruptible():
    """SIGINT interrupts, though a shell may have started the tests to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_afterwards_signals_mean_what_they_did():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    notice, _, codes = made()
    with notice:
        pass
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert codes == []


class _Metadata(http.server.BaseHTTPRequestHandler):
    answers = ["NONE", "TERMINATE_ON_HOST_MAINTENANCE"]

    def do_GET(self):
        assert self.headers["Metadata-Flavor"] == "Google"
        told = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(told.encode())

    def log_message(self, *_):
        pass


def test_a_maintenance_notice_asks_too(monkeypatch):
    monkeypatch.setattr("agrae_jax.preemption._POLL_S", 0.05)
    server = http.server.HTTPServer(("127.0.0.1", 0), _Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    notice, lines, codes = made(
        url=f"http://127.0.0.1:{server.server_port}/maintenance-event", grace_s=0.3
    )
    with notice:
        until(lambda: lines)
        with pytest.raises(Preempted, match="TERMINATE_ON_HOST_MAINTENANCE"):
            notice.check()
        until(lambda: codes)  # the grace runs from the notice
    server.shutdown()
    server.server_close()
    assert codes == [143]


def test_a_grace_of_ages_leaves_the_second_signal_its_meaning():
    notice, lines, codes = made(grace_s=1e30)
    with notice:
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: lines)
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: codes)
    assert codes == [143] and "SIGTERM again" in lines[-1]


@pytest.mark.parametrize(
    "url", ["file://{}", "{}", "http://127.0.0.1:1/a b", "http://[::1", "data:,secret"]
)
def test_a_notice_url_that_is_none_reads_no_file(tmp_path, url):
    path = tmp_path / "file"
    path.write_text("secret")
    notice, lines, codes = made(url=url.format(path))
    with notice:
        until(lambda: lines)
        notice.check()
    assert "checkpoint.notice_url cannot be read" in lines[0] and len(lines) == 1
    assert "secret" not in lines[0] and codes == []


def test_an_empty_notice_is_one_too():
    assert preemption._line(b" \n") == "an empty maintenance notice"
    assert preemption._line(b"A\x1b[2J\nB") == "A?[2J B"


def test_an_unreachable_notice_url_is_said_and_not_used():
    notice, lines, _ = made(url="http://127.0.0.1:1/maintenance-event")
    with notice:
        until(lambda: lines)
        notice.check()
    assert "checkpoint.notice_url cannot be read" in lines[0]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
