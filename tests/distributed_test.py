"""Real processes on one machine: together they train as one process does."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from agrae_jax import config, distributed, export
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
FIELDS = {
    "rollout.prompts": 16,
    "rollout.samples": 4,
    "rollout.max_new_tokens": 8,
    "updates.mini_batches": 2,
    "updates.micro_batches": 1,
    "eval.before": True,
    "eval.problems": 6,  # of the 8 rows the second process has 2 that are padding
    "eval.samples": 3,
    "eval.greedy": True,
    "checkpoint.best": "pass@1",
    "eval.after": False,
    "checkpoint.every": 2,
}
# The state of one step is all that a run of another shape may not change.
TIMES = ("time/", "memory/")


def launch(workdir, *, processes, devices, steps=2, **fields):
    """Starts `processes` of train with `devices` fake devices each."""
    fields = {**FIELDS, "steps": steps, **fields}
    flags = [f"--config.{name}={value}" for name, value in fields.items()]
    flags = ["--config=configs/smoke.py", f"--workdir={workdir}", *flags]
    return start("agrae_jax.train", flags, workdir, processes, processes * devices)


def start(module, flags, workdir, processes, devices):
    """Starts a command as `processes` that share so many fake devices."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started, each = [], devices // processes
    for index in range(processes):
        env = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={each}",
        }
        if processes > 1:
            env |= {
                distributed.ADDRESS: f"127.0.0.1:{port}",
                distributed.COUNT: str(processes),
                distributed.INDEX: str(index),
            }
        command = [sys.executable, "-m", module, *flags]
        with open(f"{workdir}.{index}.log", "w") as out:
            started.append(
                subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=out)
            )
    return started


def finish(workdir, started, seconds=240):
    for index, process in enumerate(started):
        code = process.wait(timeout=seconds)
        assert code == 0, Path(f"{workdir}.{index}.log").read_text()[-3000:]


def metrics(workdir):
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    return [
        {k: v for k, v in json.loads(line).items() if not k.startswith(TIMES)}
        for line in lines
    ]


def rollouts(workdir, step):
    folders = [workdir, *sorted((workdir / "hosts").glob("*"))]
    return [
        json.loads(line)
        for folder in folders
        for line in (folder / "rollouts" / f"step_{step:06d}.jsonl").open()
    ]


def without_times(text):
    """An evaluation's text but for its seconds; entropies to five digits."""
    text = re.sub(r'"time/seconds": [\d.e-]+', "", text)
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.4g}", text)


def saved(workdir):
    policy, _ = export._policy(config.load_run(workdir))
    checkpoints = Checkpoints(workdir / "checkpoints", keep=None)
    return checkpoints.restore_params(2, export._on_host(policy))[0]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("one") / "run"
    finish(workdir, launch(workdir, processes=1, devices=8))
    return workdir


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_train_as_one_does(one, tmp_path, processes):
    workdir = tmp_path / "run"
    finish(workdir, launch(workdir, processes=processes, devices=8 // processes))
    for step in (1, 2):
        wanted, found = rollouts(one, step), rollouts(workdir, step)
        assert [r["draw"] for r in found] == [r["draw"] for r in wanted]
        assert [r["completion"] for r in found] == [r["completion"] for r in wanted]
        assert [r["outcome"] for r in found] == [r["outcome"] for r in wanted]
    for mine, theirs in zip(metrics(workdir), metrics(one), strict=True):
        assert set(mine) == set(theirs)
        for name, value in theirs.items():
            if isinstance(value, float):
                assert mine[name] == pytest.approx(value, rel=1e-5, abs=1e-7), name
    for name in ("arithmetic_step_000000.json", "arithmetic_step_000000.samples.jsonl"):
        mine, theirs = ((run / "eval" / name).read_text() for run in (workdir, one))
        assert without_times(mine) == without_times(theirs), name
    assert (workdir / "best" / "0").is_dir()
    found, wanted = saved(workdir), saved(one)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * float(np.abs(b).max()))


DRAWING = {
    "dapo": {
        "method.kwargs.dynamic_sampling": True,
        "method.kwargs.max_batches": 3,
    },
    "sec": {
        "data.train_kwargs.levels": "('sum_to_9','sum_2_1')",
        "method.kwargs.temperature": 0.1,
        "rollout.prompts": 16,
        "rollout.samples": 16,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWING)
def test_methods_that_choose_their_prompts_do_so_as_one_process(tmp_path, name):
    fields = {
        "method.name": name,
        "rollout.max_new_tokens": 16,
        "rollout.prompts": 8,
        "updates.mini_batches": 1,
        "eval.before": False,
        "checkpoint.best": "",
        **DRAWING[name],
    }
    runs = {n: tmp_path / f"run{n}" for n in (1, 2)}
    for processes, workdir in runs.items():
        started = launch(
            workdir, processes=processes, devices=8 // processes, steps=3, **fields
        )
        finish(workdir, started)
    for step in (1, 2, 3):
        wanted, found = (rollouts(workdir, step) for workdir in runs.values())
        assert [r["draw"] for r in found] == [r["draw"] for r in wanted]
        assert [r["completion"] for r in found] == [r["completion"] for r in wanted]
        assert [r["outcome"] for r in found] == [r["outcome"] for r in wanted]
    for theirs, mine in zip(*map(metrics, runs.values()), strict=True):
        assert set(mine) == set(theirs)
        for metric, value in theirs.items():
            if isinstance(value, float):
                assert mine[metric] == pytest.approx(value, rel=1e-5, abs=1e-7), metric
    last = metrics(runs[2])[-1]
    # Or nothing was chosen: more than one batch, and levels not drawn alike any more.
    assert last.get("rounds", 2) > 1 and last.get("curriculum/sum_2_1", 0) != 0.5


@pytest.mark.slow
def test_processes_evaluate_a_run_as_one_does(one, tmp_path):
    tables = []
    for processes in (1, 2):
        workdir = tmp_path / f"run{processes}"
        shutil.copytree(one, workdir)
        flags = [f"--workdir={workdir}", "--name=again", "--samples=4"]
        finish(workdir, start("agrae_jax.evaluate", flags, workdir, processes, 8))
        tables.append((workdir / "eval/step_000002/again.json").read_text())
    assert without_times(tables[0]) == without_times(tables[1])


def test_processes_with_other_configs_or_programs_are_refused():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = (
        "import sys; from agrae_jax import distributed; distributed.start();\n"
        "from agrae_jax.errors import UserError\n"
        "from agrae_jax.recompiles import CompiledOnce\n"
        "import jax\n"
        "try:\n"
        "  distributed.check_alike({'code': 'same', 'config': sys.argv[1]})\n"
        "except UserError as error:\n"
        "  print(error)\n"
        "same = CompiledOnce('prepare', jax.jit(lambda x: x + 1))\n"
        "print('prepare gave', same(1))\n"
        "other = CompiledOnce('update', jax.jit(lambda x: x + len(sys.argv)))\n"
        "try:\n"
        "  other(1)\n"
        "except UserError as error:\n"
        "  print(error); sys.exit(2)\n"
    )
    started = []
    for index in range(2):
        env = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": "",
            distributed.ADDRESS: f"127.0.0.1:{port}",
            distributed.COUNT: "2",
            distributed.INDEX: str(index),
        }
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", code, f"hash{index}", *["more"] * index],
                cwd=ROOT,
                env=env,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for process in started:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 2
        assert "processes differ in their config: process 0 has hash0" in out
        assert "process 1 has hash1" in out
        assert "prepare gave 2" in out
        assert "processes differ in their program update: process 0 has" in out


def test_the_death_of_a_process_ends_the_other_with_the_reason(tmp_path):
    workdir = tmp_path / "run"
    started = launch(workdir, processes=2, devices=4, steps=100000)
    try:
        until = time.monotonic() + 240
        while not (workdir / "metrics.jsonl").exists():
            assert time.monotonic() < until and started[0].poll() is None, Path(
                f"{workdir}.0.log"
            ).read_text()[-2000:]
            time.sleep(0.2)
        started[1].send_signal(signal.SIGKILL)
        killed = time.monotonic()
        code = started[0].wait(timeout=60)
        taken = time.monotonic() - killed
    finally:
        for process in started:
            process.kill()
    assert code != 0
    assert taken < 3 * distributed.HEARTBEAT_S, taken
    text = Path(f"{workdir}.0.log").read_text()
    assert "another process" in text or "heartbeat" in text or "closed" in text, text


def test_a_process_without_progress_ends_with_its_stacks():
    code = (
        "import time\n"
        "from agrae_jax.distributed import Watchdog\n"
        "def stuck():\n"
        "    time.sleep(60)\n"
        "with Watchdog(0.5):\n"
        "    stuck()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert run.returncode == 1
    assert "Timeout" in run.stderr and "in stuck" in run.stderr


@pytest.mark.parametrize(
    "env, words",
    [
        ({distributed.ADDRESS: "127.0.0.1:1"}, "JAX_NUM_PROCESSES is not set"),
        (
            {
                distributed.ADDRESS: "127.0.0.1:1",
                distributed.COUNT: "2",
                distributed.INDEX: "2",
            },
            "JAX_PROCESS_ID=2 must be a number from 0, below JAX_NUM_PROCESSES=2",
        ),
    ],
)
def test_a_contradictory_environment_raises(monkeypatch, env, words):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=words):
        distributed.start()


def test_rows_must_belong_to_one_process_each(monkeypatch):
    class Device:
        def __init__(self, process):
            self.process_index = process

    def mesh(processes) -> Any:
        devices = [[Device(p) for p in row] for row in processes]
        return SimpleNamespace(devices=np.array(devices, object))

    monkeypatch.setattr(jax, "process_count", lambda: 2)
    distributed.check_rows(mesh([[0, 0], [0, 0], [1, 1], [1, 1]]))
    for processes in ([[0, 1], [0, 1]], [[1, 1], [0, 0]], [[0, 0, 1, 1]]):
        with pytest.raises(UserError, match="rows of its own: make mesh.tensor"):
            distributed.check_rows(mesh(processes))


def test_one_process_gathers_itself():
    assert distributed.gather({"a": 1}) == [{"a": 1}]
    distributed.check_alike({"code": "x"})


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
