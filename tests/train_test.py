"""The whole job on the smoke config: run directory, refusal, kill and resume."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from agrae_jax.errors import PREEMPTED
from agrae_jax.metrics import read_jsonl, without_times

ROOT = Path(__file__).parents[1]
ENV = os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}


def command(workdir, *overrides):
    return [
        sys.executable,
        "-m",
        "agrae_jax.train",
        "--config=configs/smoke.py",
        f"--workdir={workdir}",
        *overrides,
    ]


def launch(workdir, *overrides):
    return subprocess.run(
        command(workdir, *overrides), cwd=ROOT, env=ENV, capture_output=True, text=True
    )


LONG = (
    "--config.steps=5",
    "--config.checkpoint.every=2",
    "--config.eval.before=False",
    "--config.eval.after=False",
)


# Evaluation on training problems, a greedy completion and the best model, as well.
MORE = (
    "--config.eval.train_problems=4",
    "--config.eval.greedy=True",
    "--config.checkpoint.best=pass@1",
)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("runs") / "smoke"
    done = launch(workdir, *MORE)
    assert done.returncode == 0, done.stderr
    return workdir, done.stdout


def test_a_run_leaves_a_whole_run_directory(smoke):
    workdir, out = smoke
    config = json.loads((workdir / "config.json").read_text())
    assert config["method"]["kwargs"]["alpha"] == 1.0
    assert [line["step"] for line in read_jsonl(workdir / "metrics.jsonl")] == [1, 2, 3]
    rows = (workdir / "rollouts" / "step_000001.jsonl").read_text().splitlines()
    assert len(rows) == 4 * 8
    assert {"completion", "reward", "advantage", "outcome"} <= json.loads(
        rows[0]
    ).keys()
    before = json.loads((workdir / "eval" / "arithmetic_step_000000.json").read_text())
    assert before["pass@k"].keys() == {"1", "2", "4"}
    assert sum(r["samples"] for r in before["records"]) == 32
    seen = json.loads((workdir / "eval/arithmetic_train_step_000003.json").read_text())
    assert seen["problems"] == 4 and 0 <= seen["greedy"]["mean"] <= 1
    assert seen["records"][0]["votes"] and "mean_entropy" in seen["greedy"]
    (best,) = [int(path.name) for path in (workdir / "best").glob("[0-9]*")]
    assert best in (0, 3)
    assert (workdir / "checkpoints" / "3").is_dir()
    assert out.splitlines()[0].startswith("Training random:llama with a_grae")


def test_a_finished_directory_is_refused_and_says_how_to_go_on(smoke):
    done = launch(smoke[0], *MORE)
    assert done.returncode == 2
    assert done.stdout + done.stderr == done.stderr.splitlines()[-1] + "\n"
    assert "--config.steps" in done.stderr and "Traceback" not in done.stderr


def test_evaluate_restores_params_and_repeats_the_numbers(smoke):
    workdir, _ = smoke
    done = subprocess.run(
        [sys.executable, "-m", "agrae_jax.evaluate", f"--workdir={workdir}"],
        cwd=ROOT,
        env=ENV,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((workdir / "eval/step_000003/arithmetic.json").read_text())
    after = json.loads((workdir / "eval" / "arithmetic_step_000003.json").read_text())
    assert result["records"] == after["records"]
    prompt = (workdir / "prompt.txt").read_text()
    assert prompt.startswith("<|im_start|>user\n")
    assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.slow  # tests/preemption_test.py has the quick ones
def test_sigterm_saves_and_the_same_command_ends_bit_equal(tmp_path):
    """SIGTERM after step 3, between the checkpoints of steps 2 and 4."""
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    done = launch(whole, *LONG)
    assert done.returncode == 0, done.stderr
    process = subprocess.Popen(
        command(ended, *LONG),
        cwd=ROOT,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    metrics = ended / "metrics.jsonl"
    while process.poll() is None:
        if metrics.exists() and metrics.read_text().count("\n") >= 3:
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.001)
    out, err = process.communicate()
    assert process.returncode == PREEMPTED == 3, err
    assert "SIGTERM: saving at the end of this phase" in out
    (last,) = [line for line in err.splitlines() if line.startswith("stopped: ")]
    step = json.loads((ended / "status.json").read_text())["step"]
    assert step >= 3 and f"saved at step {step} of 5: the same command" in last
    assert (ended / "checkpoints" / str(step)).is_dir()

    again = launch(ended, *LONG)
    assert again.returncode == 0, again.stderr
    assert f"resumed at step {step} of 5" in again.stdout
    a, b = (
        [without_times(line) for line in read_jsonl(d / "metrics.jsonl")]
        for d in (whole, ended)
    )
    assert a == b and len(a) == 5
    for path in sorted((whole / "rollouts").iterdir()):
        assert path.read_bytes() == (ended / "rollouts" / path.name).read_bytes()
    for left, right in zip(arrays(whole), arrays(ended), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.slow
def test_a_run_goes_on_on_another_mesh(tmp_path):
    """Begun on one device, ended on four: the numbers of a run on one, to rounding."""
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    env = ENV | devices

    def go(workdir, fsdp, steps):
        flags = [f"--config.mesh.fsdp={fsdp}", f"--config.steps={steps}"]
        flags += ["--config.updates.mini_batches=1", "--config.updates.micro_batches=1"]
        flags += ["--config.eval.prompts=4"]
        done = subprocess.run(
            command(workdir, *flags), cwd=ROOT, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return workdir

    whole = go(tmp_path / "whole", 1, 3)
    moved = go(tmp_path / "moved", 1, 2)
    go(moved, 4, 3)
    for step in (1, 2, 3):
        name = f"step_{step:06d}.jsonl"
        texts, others = (
            [
                json.loads(line)["completion"]
                for line in (d / "rollouts" / name).read_text().splitlines()
            ]
            for d in (whole, moved)
        )
        assert texts == others
    a, b = (read_jsonl(d / "metrics.jsonl")[2] for d in (whole, moved))
    for name in ("loss", "grad_norm", "entropy", "update_norm"):
        assert a[name] == pytest.approx(b[name], rel=1e-5, abs=1e-6)
    for left, right in zip(arrays(whole), arrays(moved), strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-5)


def arrays(workdir):
    """Every array of a run's last checkpoint: params and optimizer state."""
    import jax

    from agrae_jax import build, config
    from agrae_jax.checkpoint import Checkpoints

    parsed = config.parse(
        [f"--workdir={workdir}", "--config.mesh.fsdp=1"], from_run=True
    )
    c = parsed.config
    model = build.build_model(c, build.build_mesh(c))
    method = build.build_method(c)
    tx = build.build_optimizer(c, method)
    state, _ = build.build_state(model, method, tx)
    checkpoints = Checkpoints(workdir / "checkpoints", keep=None)
    state, _ = checkpoints.restore(c.steps, build.abstract(state))
    checkpoints.close()
    leaves = jax.tree.leaves(state)
    assert len(leaves) > 20
    return [np.asarray(leaf) for leaf in leaves]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
