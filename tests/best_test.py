"""The best model: what is kept, and that an interrupted run keeps the same."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.best import Best
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.console import Console
from agrae_jax.run_directory import RunDirectory


def result(value):
    return {"pass@k": {"1": {"mean": value, "low": 0, "high": 1}}}


def params(step):
    return {"w": jnp.full((4,), step, jnp.float32)}


def offer(best, step, value):
    best.offer(step, params(step), result(value))


def kept(run):
    with Checkpoints(run.path / "best", keep=None) as found:
        restored, meta = found.restore_params(found.steps()[-1], params(0))
        return found.steps(), float(np.asarray(restored["w"])[0]), meta


def test_the_best_is_kept_and_an_equal_one_is_not(tmp_path):
    run = RunDirectory(tmp_path)
    best = Best(run, "pass@1", Console(quiet=True))
    for step, value in ((0, 0.2), (5, 0.4), (10, 0.4), (15, 0.3)):
        offer(best, step, value)
    best.offer(20, params(20), {"pass@k": {}})  # nothing gradable
    assert kept(run) == ([5], 5.0, {"metric": "pass@1", "value": 0.4})


def test_a_resumed_run_keeps_the_same(tmp_path):
    run = RunDirectory(tmp_path)
    first = Best(run, "pass@1", Console(quiet=True))
    offer(first, 0, 0.2)
    offer(first, 5, 0.4)  # and killed before the checkpoint of step 5
    resumed = Best(run, "pass@1", Console(quiet=True))
    offer(resumed, 0, 0.2)
    offer(resumed, 5, 0.4)
    assert kept(run)[:2] == ([5], 5.0)
    offer(resumed, 10, 0.5)
    assert kept(run)[:2] == ([10], 10.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
