"""Kill a run again and again, at bad moments; it must end bit-equal to an unharmed one.

The short form is an ordinary test; the long one (`make chaos`) kills AGRAE_KILLS times
(default 24). The moments come in turn, their delays from a fixed seed: some time after
a save, in the middle of one, a grader at work, while starting.
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
KILLS = int(os.environ.get("AGRAE_KILLS", "24"))
MOMENTS = ("save", "grader", "line", "start")
DEADLINE_S = 3600  # of one life, on a machine that has much else to do


def _start(folder, name, steps):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "agrae_jax.train",
            "--config=configs/smoke.py",
            f"--workdir={folder / name}",
            f"--config.steps={steps}",
            f"--config.data.train=jsonl:{folder / 'train.jsonl'}",
            "--config.eval.before=False",
        ],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _write_problems(path):
    """Sums whose golds want a parser (6/2 does not): graders work in every step."""
    rows = [
        {"question": f"{a} + {b} = ?", "answer": f"{a}+{b}"}
        for a in range(5)
        for b in range(5)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _saved(workdir):
    """The newest whole checkpoint, 0 if there is none."""
    names = [p.name for p in workdir.glob("checkpoints/*")]
    return max((int(name) for name in names if name.isdigit()), default=0)


def _graders(pid):
    """Process ids of the graders of a run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            words = (path / "cmdline").read_text().split("\0")
        except OSError:
            continue  # it has just ended
        if parent == str(pid) and "agrae_jax.verify.worker" in words:
            found.append(int(path.name))
    return found


def _live_and_die(folder, name, steps, moment, draw):
    """Runs one life and kills it at a moment; returns (kills, graders killed)."""
    workdir, start = folder / name, time.monotonic()
    before, graders = _saved(workdir), 0
    delay = draw.uniform(0.3, 3.0) if moment == "start" else draw.uniform(0, 0.02)
    process = _start(folder, name, steps)
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
            if moment == "grader" and grown and not graders:
                for pid in _graders(process.pid):
                    os.kill(pid, signal.SIGKILL)
                    graders, before = 1, _saved(workdir)
            elif moment == "grader" and graders and grown:
                break
            time.sleep(0.0005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return process.returncode == -signal.SIGKILL, graders


def _finish(folder, name, steps):
    process = _start(folder, name, steps)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err[-3000:]
    return out


def _arrays(workdir):
    """Every array of the last checkpoint, by item and path; and its meta data."""
    import jax
    import orbax.checkpoint as ocp

    newest = workdir / "checkpoints" / str(_saved(workdir))
    out = {"meta": np.frombuffer((newest / "meta" / "metadata").read_bytes(), np.uint8)}
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
    paths = sorted(workdir.glob("eval/*_step_*[0-9].json"))
    assert paths
    return {path.name: without_times(json.loads(path.read_text())) for path in paths}


def _compare(whole, killed, steps):
    """(bytes compared, names of what differs) of two finished runs."""
    a, b = _arrays(whole), _arrays(killed)
    assert a.keys() == b.keys() and len(a) > 20
    differences = [name for name in a if a[name].tobytes() != b[name].tobytes()]
    compared = sum(x.nbytes for x in a.values())
    lines = [
        [without_times(line) for line in read_jsonl(d / "metrics.jsonl")]
        for d in (whole, killed)
    ]
    assert [line["step"] for line in lines[0]] == list(range(1, steps + 1))
    compared += len(json.dumps(lines[0]))
    differences += ["metrics.jsonl"] if repr(lines[0]) != repr(lines[1]) else []
    names = [
        p.relative_to(whole)
        for pattern in ("rollouts/*", "verify/*", "data.json", "eval/*.samples.jsonl")
        for p in sorted(whole.glob(pattern))
    ]
    assert sum(name.parts[0] == "rollouts" for name in names) == steps
    assert {p.name for p in (killed / "rollouts").iterdir()} == {
        name.name for name in names if name.parts[0] == "rollouts"
    }
    for name in names:
        compared += (whole / name).stat().st_size
        if (whole / name).read_bytes() != (killed / name).read_bytes():
            differences.append(str(name))
    if _evaluation(whole) != _evaluation(killed):
        differences.append("evaluation")
    return compared, differences


def _chaos(folder, kills, capsys):
    draw, steps = random.Random(0), 3 * kills
    _write_problems(folder / "train.jsonl")
    _finish(folder, "whole", steps)
    done = dict.fromkeys((*MOMENTS, "process"), 0)
    for moment in itertools.cycle(MOMENTS):
        if done["process"] + done["grader"] >= kills:
            break
        died, graders = _live_and_die(folder, "killed", steps, moment, draw)
        assert died, "the run ended before it could be killed"
        done["process"] += 1
        done[moment] += graders if moment == "grader" else 1
    # The claim of a killed process must not outlive it, nor its graders.
    out = _finish(folder, "killed", steps)
    assert "resumed at step" in out
    compared, differences = _compare(folder / "whole", folder / "killed", steps)
    with capsys.disabled():
        print(
            f"\nchaos: {done['process'] + done['grader']} kills survived"
            f" ({done['process']} of the process, {done['save']} of them in the middle"
            f" of a save, {done['grader']} of a grader), {compared} bytes compared,"
            f" {len(differences)} differences"
        )
    assert done["save"] and done["grader"], "no kill hit a save or a grader"
    assert not differences, differences


def test_sigkill_at_bad_moments_ends_bit_equal(tmp_path, capsys):
    _chaos(tmp_path, 3, capsys)


@pytest.mark.chaos
def test_many_kills_at_bad_moments_end_bit_equal(tmp_path, capsys):
    _chaos(tmp_path, KILLS, capsys)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
