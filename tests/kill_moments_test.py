"""SIGKILL between two writes, at each place where a run is between two states.

`chaos_test.py` kills at random; here a life ends exactly before or after one call, one
life for each place, all of them in one run directory. It must end bit-equal, too.
"""

import importlib
import os
import signal
import subprocess
import sys

import pytest

from tests.chaos_test import _compare
from tests.train_test import ENV, ROOT, launch

# (module, function, before or after it, how many calls of a life are let through)
PLACES = [
    ("claiming", "versions", "before", 0),  # the directory is there, and nothing in it
    ("claiming", "write_json", "after", 0),  # config.json alone
    ("run_directory", "RunDirectory.write_data", "before", 0),
    ("evaluation.progress", "Progress.add", "after", 0),  # while evaluating
    ("run_directory", "RunDirectory.write_samples", "after", 0),
    ("metrics", "JsonlWriter.write", "after", 0),  # between metrics and rollouts
    ("run_directory", "RunDirectory.write_rollouts", "after", 0),  # and checkpoint
    ("checksums", "write", "after", 0),  # whole, and not renamed yet
    ("run_directory", "RunDirectory.note_saved", "before", 1),  # saved, and not noted
    ("metrics", "truncate_to", "after", 0),  # of a resume: half cut back
    ("best", "Best.offer", "before", 0),
    ("run_directory", "RunDirectory.write_evaluation", "after", 0),
    ("run_directory", "RunDirectory.write_summary", "before", 0),
    ("report", "write", "before", 0),
    ("report", "write", "after", 0),  # all written, and not called finished
]
FLAGS = (
    "--config.steps=5",
    "--config.checkpoint.every=2",
    "--config.eval.every=2",
    "--config.checkpoint.best=pass@1",
)


def die_at(module, name, when, calls):
    """Makes this process kill itself before or after a call of a function."""
    owner = importlib.import_module(f"agrae_jax.{module}")
    *path, name = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    as_ever, left = getattr(owner, name), int(calls)

    def killing(*args, **kwargs):
        nonlocal left
        left -= 1
        if when == "before" and left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        found = as_ever(*args, **kwargs)
        if when == "after" and left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    # Where another module took it by name, too.
    for other in [owner, *sys.modules.values()]:
        if getattr(other, name, None) is as_ever:
            setattr(other, name, killing)


@pytest.mark.chaos
def test_sigkill_between_any_two_writes_ends_bit_equal(tmp_path, capsys):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = launch(whole, *FLAGS)
    assert done.returncode == 0, done.stderr
    for place in PLACES:
        life = subprocess.run(
            [sys.executable, "-m", "tests.kill_moments_test", *map(str, place)]
            + ["--config=configs/smoke.py", f"--workdir={killed}", *FLAGS],
            cwd=ROOT,
            env=ENV,
            capture_output=True,
            text=True,
        )
        told = life.stdout[-2000:] + life.stderr[-2000:]
        assert life.returncode == -signal.SIGKILL, f"{place} not reached: {told}"
    done = launch(killed, *FLAGS)
    assert done.returncode == 0, done.stderr
    compared, differences = _compare(whole, killed, 5)
    for path in sorted((whole / "eval").iterdir()):
        assert (killed / "eval" / path.name).exists(), path.name
    best = [[p.name for p in (d / "best").glob("[0-9]*")] for d in (whole, killed)]
    assert best[0] == best[1] and not list(killed.rglob("*.tmp"))
    with capsys.disabled():
        print(
            f"\nkill moments: {len(PLACES)} kills survived, {compared} bytes compared,"
            f" {len(differences)} differences"
        )
    assert not differences, differences


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in {place[0] for place in PLACES}:
        from agrae_jax import config, train

        die_at(*sys.argv[1:5])
        del sys.argv[1:5]
        config.main(train.main)
    raise SystemExit(pytest.main([__file__]))
