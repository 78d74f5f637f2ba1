"""The pool: order, deadlines, dead workers, isolation, caching."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from agrae_jax.verify import process
from agrae_jax.verify.pool import Pool
from agrae_jax.verify.process import Worker

HANG = "tests.verify.doubles:hang"


def outcomes(verdicts):
    return [(v.outcome, v.rule) for v in verdicts]


def test_verdicts_come_in_the_order_of_the_items():
    items = [(f"\\boxed{{\\frac{{{n}}}{{2}} x}}", f"{n % 3}x/2") for n in range(12)]
    items[5] = ("no answer here", "4")
    with Pool(workers=2) as pool:
        got = pool.grade(items)
    expected = ["correct"] * 3 + ["wrong"] * 9
    assert [v.outcome for v in got] == expected
    assert got[1].answer == "\\frac{1}{2} x" and got[1].span == (0, 21)
    assert got[5].answer is None


def test_ordinary_numbers_start_no_worker():
    with Pool() as pool:
        got = pool.grade([("\\boxed{42}", "42"), ("so \\boxed{1,234}", "1234.0")])
        assert [v.outcome for v in got] == ["correct", "correct"]
        assert "workers_started" not in pool.stats()


def test_a_deadline_kills_the_worker_and_costs_one_item():
    with Pool(workers=1, deadline_s=0.5, verifier=HANG) as pool:
        start = time.monotonic()
        got = pool.grade([("a", "a"), ("hang", "a"), ("b", "a")])
        assert time.monotonic() - start < 100
        assert outcomes(got)[1] == ("ungradable", "deadline")
        assert [v.outcome for v in got] == ["correct", "ungradable", "wrong"]
        assert pool.stats()["workers_started"] == 2
        hits = pool.deadline_hits()
    with Pool(workers=1, verifier=HANG, known=hits) as again:
        assert again.grade([("hang", "a")])[0].rule == "deadline"
        assert "workers_started" not in again.stats()


def test_a_deadline_hit_outlives_the_cache():
    with Pool(workers=1, deadline_s=0.3, verifier=HANG, cache=1) as pool:
        for text in ("hang", "a", "b", "hang"):
            last = pool.grade([(text, "a")])[0]
        assert last.rule == "deadline"
        assert pool.stats()["deadline"] == 1  # graded once


def test_waiting_without_computing_is_no_deadline():
    """The deadline is processor time: a starved worker changes no verdict."""
    with Pool(workers=1, deadline_s=1.0, verifier=HANG) as pool:
        assert pool.grade([("sleep", "sleep")])[0].outcome == "correct"


def test_a_dead_worker_costs_one_item():
    with Pool(workers=1, verifier=HANG) as pool:
        got = pool.grade([("die", "a"), ("a", "a")])
    assert outcomes(got)[0] == ("ungradable", "worker")
    assert got[1].outcome == "correct"


def test_a_worker_killed_from_outside_while_idle_costs_nothing():
    with Pool(workers=1) as pool:
        pool.grade([("\\boxed{2x}", "x+x")])
        (worker,) = pool._workers
        os.kill(worker.pid, signal.SIGKILL)
        time.sleep(0.2)
        assert pool.grade([("\\boxed{3x}", "x+x+x")])[0].outcome == "correct"


def test_a_grader_killed_from_outside_at_work_changes_no_verdict():
    with Pool(workers=1, verifier=HANG) as pool:
        batch = pool.submit([("sleep", "sleep")])
        while not pool._workers:
            time.sleep(0.01)
        (worker,) = pool._workers
        time.sleep(0.3)
        os.kill(worker.pid, signal.SIGKILL)
        assert outcomes(batch.result())[0][0] == "correct"
        assert pool.stats()["workers_started"] == 2


def test_memory_is_bounded():
    with Pool(workers=1, verifier=HANG) as pool:
        got = pool.grade([("eat", "a"), ("a", "a")])
    assert outcomes(got)[0] == ("ungradable", "memory")
    assert got[1].outcome == "correct"


def test_a_worker_writes_no_files():
    with Pool(workers=1, verifier=HANG) as pool:
        assert pool.grade([("write", "write")])[0].outcome == "ungradable"
    try:
        assert os.path.getsize("/tmp/agrae_verify_canary") == 0
    finally:
        os.unlink("/tmp/agrae_verify_canary")


def test_closing_in_mid_batch_ends_at_once():
    pool = Pool(workers=1, deadline_s=60, verifier=HANG)
    batch = pool.submit([("hang", "a"), ("a", "a")])
    closer = threading.Timer(1.0, pool.close)
    closer.start()
    got = batch.result()
    closer.join()
    assert [v.outcome for v in got] == ["ungradable", "ungradable"]


def test_closing_answers_items_that_the_cache_has_dropped():
    pool = Pool(workers=1, deadline_s=60, verifier=HANG, cache=1)
    batch = pool.submit([("hang", str(n)) for n in range(5)])
    pool.close()
    assert [v.rule for v in batch.result()] == ["closed"] * 5


def test_a_worker_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setattr(process, "environment", lambda: {"PYTHONPATH": "/nowhere"})
    monkeypatch.chdir("/")
    with Pool(workers=1) as pool:
        got = pool.grade([("\\boxed{2x}", "x+x")])[0]
    assert got.outcome == "ungradable" and "No module named" in got.reason


def test_equal_pairs_are_graded_once():
    with Pool(workers=2) as pool:
        got = pool.grade([("\\boxed{x+1}", "1+x")] * 50)
        assert all(v.outcome == "correct" for v in got)
        assert pool.stats()["cached"] == 49


def test_it_works_off_the_main_thread():
    out = []
    with Pool(workers=1) as pool:
        thread = threading.Thread(
            target=lambda: out.extend(pool.grade([("\\boxed{x+1}", "1+x")]))
        )
        thread.start()
        thread.join(timeout=60)
    assert out[0].outcome == "correct"


def test_a_worker_holds_no_jax():
    worker = Worker(2 << 30)
    try:
        worker.ask("math", "\\boxed{\\sin(2x)}", "2\\sin x\\cos x", 20)
        modules = worker.request([7, "modules", {}, "", ""], 20)[1]
    finally:
        worker.kill()
    assert "agrae_jax.verify.symbolic" in modules
    assert not [m for m in modules if m == "jax" or m.startswith(("jax.", "jaxlib"))]


def test_a_worker_whose_parent_died_before_it_started_ends():
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    command = [sys.executable, "-m", "agrae_jax.verify.worker", "2147483648"]
    command.append(str(dead.pid))
    orphan = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=process.environment(),
    )
    assert orphan.wait(timeout=60) == 1  # though its input stays open
    orphan.communicate()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
