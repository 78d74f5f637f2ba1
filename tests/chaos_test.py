"""Kill a run again and again, at bad moments; it must end bit-equal to an unharmed one.

AGRAE_KILLS sets how often (default 4; the long form uses 20). The moments are drawn
from a fixed seed: while starting, some time after a save, in the middle of one.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from agrae_jax.metrics import read_jsonl, without_times

ROOT = Path(__file__).resolve().parent.parent
KILLS = int(os.environ.get("AGRAE_KILLS", "4"))
MOMENTS = ("line", "save", "start")
DEADLINE_S = 300  # of one life; nothing here takes a tenth of it


def _start(workdir):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "agrae_jax.train",
            "--config=configs/smoke.py",
            f"--workdir={workdir}",
            f"--config.steps={3 * KILLS}",
            "--config.eval.before=False",
        ],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _saved(workdir):
    """The newest whole checkpoint, 0 if there is none."""
    names = [p.name for p in workdir.glob("checkpoints/*")]
    return max((int(name) for name in names if name.isdigit()), default=0)


def _kill_at(workdir, moment, draw):
    """Runs one life and kills it; True unless it came to its end first."""
    start, before = time.monotonic(), _saved(workdir)
    delay = draw.uniform(0.3, 3.0) if moment == "start" else draw.uniform(0, 0.02)
    process = _start(workdir)
    try:
        while process.poll() is None and time.monotonic() - start < DEADLINE_S:
            # All moments but the start come after some progress, so that the run
            # ends some day.
            grown = _saved(workdir) > before
            unfinished = any(workdir.glob("checkpoints/*.orbax-checkpoint-tmp*"))
            if moment == "start" and time.monotonic() - start > delay:
                break
            if moment == "line" and grown:
                time.sleep(delay)
                break
            if moment == "save" and grown and unfinished:
                break
            time.sleep(0.0005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return process.returncode == -signal.SIGKILL


def _finish(workdir):
    process = _start(workdir)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err[-3000:]
    return out


def _arrays(workdir):
    """Every array of the last checkpoint, by item and path."""
    import jax
    import orbax.checkpoint as ocp

    newest = max(
        (p for p in (workdir / "checkpoints").iterdir() if p.name.isdigit()),
        key=lambda p: int(p.name),
    )
    out = {}
    with ocp.StandardCheckpointer() as reader:
        for item in ("params", "opt_state", "method_state"):
            if (newest / item).is_dir():
                tree = reader.restore(newest / item)
                leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
                out |= {
                    f"{newest.name}/{item}{jax.tree_util.keystr(path)}": np.asarray(x)
                    for path, x in leaves
                }
    return out


def _evaluation(workdir):
    (path,) = workdir.glob("eval/*_step_*[0-9].json")
    return without_times(json.loads(path.read_text()))


@pytest.mark.chaos
def test_a_run_survives_kills_at_bad_moments_and_ends_bit_equal(tmp_path, capsys):
    draw = random.Random(0)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    _finish(whole)
    kills = 0
    for moment in itertools.islice(itertools.cycle(MOMENTS), KILLS):
        kills += _kill_at(killed, moment, draw)
    assert kills == KILLS, "the run ended before it could be killed"
    # The claim of a killed process must not outlive it, nor its graders.
    out = _finish(killed)
    assert "resumed at step" in out

    a, b = _arrays(whole), _arrays(killed)
    assert a.keys() == b.keys() and len(a) > 20
    differences = [name for name in a if a[name].tobytes() != b[name].tobytes()]
    compared = sum(x.nbytes for x in a.values())
    lines = [
        [without_times(line) for line in read_jsonl(d / "metrics.jsonl")]
        for d in (whole, killed)
    ]
    assert [line["step"] for line in lines[0]] == list(range(1, 3 * KILLS + 1))
    assert lines[0] == lines[1]
    rollouts = sorted((whole / "rollouts").iterdir())
    assert [p.name for p in rollouts] == sorted(
        p.name for p in (killed / "rollouts").iterdir()
    )
    for path in rollouts:
        compared += path.stat().st_size
        if path.read_bytes() != (killed / "rollouts" / path.name).read_bytes():
            differences.append(path.name)
    assert _evaluation(whole) == _evaluation(killed)
    with capsys.disabled():
        print(
            f"\nchaos: {kills} kills survived, {compared} bytes compared, "
            f"{len(differences)} differences"
        )
    assert not differences, differences


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
