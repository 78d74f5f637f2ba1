"""A disk that gets full, a real one: a small tmpfs, which wants the right to mount.

The run ends with one line, what it kept is whole, and with room again the same command
ends bit-equal to a run that never met a full disk.
"""

import contextlib
import json
import subprocess

import pytest

from agrae_jax import report
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.errors import CONFIG, UserError
from agrae_jax.evaluation.progress import Progress
from agrae_jax.metrics import JsonlWriter, read_jsonl, truncate_to, without_times
from agrae_jax.run_directory import RunDirectory, write_text
from tests.chaos_test import _arrays
from tests.reliability_test import run

EVALUATED = (
    "--config.eval.after=True",
    "--config.eval.samples=2",
    "--config.checkpoint.best=pass@1",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that never meets a full disk."""
    workdir = tmp_path_factory.mktemp("runs") / "whole"
    run(workdir, *EVALUATED)
    return workdir


@pytest.fixture
def disk(tmp_path):
    """A disk of 16 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"NOT TESTED: a tmpfs cannot be mounted here ({error})")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk):
    """Writes until nothing fits any more."""
    with contextlib.suppress(OSError), (disk / "ballast").open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()


def result(workdir):
    """What must be equal, whatever happened on the way."""
    (path,) = workdir.glob("eval/*_step_000002.json")
    samples = path.with_name(path.stem + ".samples.jsonl")
    rollouts = sorted((workdir / "rollouts").iterdir())
    return {
        "metrics": [without_times(x) for x in read_jsonl(workdir / "metrics.jsonl")],
        "rollouts": {p.name: p.read_bytes() for p in rollouts},
        "evaluation": without_times(json.loads(path.read_text())),
        "samples": samples.read_bytes(),
        "best": [p.name for p in (workdir / "best").glob("[0-9]*")],
        "arrays": {k: x.tobytes() for k, x in _arrays(workdir).items()},
    }


# The write before which the disk gets full, and whether it is step 2's or the first.
WRITES = [
    ("checkpoints", Checkpoints, "save", 2),
    ("metrics.jsonl", JsonlWriter, "write", 2),
    ("rollouts/step_000002.jsonl", RunDirectory, "write_rollouts", 2),
    ("progress", Progress, "add", 1),
    ("eval/arithmetic_step_000002.json", RunDirectory, "write_evaluation", 1),
    ("best", Checkpoints, "save", 3),
    ("report.html", report, "write", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "owner", "write", "time"), WRITES)
def test_a_full_disk_ends_the_run_and_room_resumes_it(
    whole, disk, monkeypatch, capfd, name, owner, write, time
):
    workdir, calls, as_ever = disk / "run", [], getattr(owner, write)

    def filling(*args, **kwargs):
        calls.append(write)
        if len(calls) == time:
            fill(disk)
        return as_ever(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, write, filling)
        with pytest.raises(UserError) as caught:
            run(workdir, *EVALUATED)
    told = str(caught.value)
    assert caught.value.exit_code == CONFIG and "No space left" in told, told
    assert name in told, told
    out = capfd.readouterr()
    assert "Traceback" not in out.out + out.err
    for path in workdir.rglob("*.json"):
        json.loads(path.read_text())  # whole
    (disk / "ballast").unlink()
    run(workdir, *EVALUATED)
    assert result(workdir) == result(whole)
    assert (workdir / "report.html").stat().st_size > 1000
    assert RunDirectory(workdir).status() == {"finished": True, "step": 2}
    assert not list(workdir.rglob("*.tmp"))


def test_every_file_that_meets_a_full_disk_is_one_line(tmp_path):
    """Quick, of each writer of text by itself: /dev/full under its temporary name."""
    here = RunDirectory(tmp_path)
    for folder in (here.rollouts, here.eval):
        folder.mkdir()
    here.metrics.write_text('{"step": 1}\n')
    row = {"completion": "x" * 10_000}
    for name, write in {
        "rollouts/step_000001.jsonl": lambda: here.write_rollouts(1, [row]),
        "eval/a.json": lambda: here.write_evaluation("a", row),
        "eval/a.samples.jsonl": lambda: here.write_samples("a", [row]),
        "status.json": lambda: here.mark(step=1, finished=False),
        "report.html": lambda: write_text(tmp_path / "report.html", "<html>"),
        "metrics.jsonl": lambda: truncate_to(here.metrics, 1),
    }.items():
        (tmp_path / f"{name}.tmp").symlink_to("/dev/full")
        with pytest.raises(UserError, match=f"cannot write .*{name}: No space left"):
            write()
        assert name == "metrics.jsonl" or not (tmp_path / name).exists()
    assert here.metrics.read_text() == '{"step": 1}\n'


def test_a_full_disk_that_nobody_expects_is_one_line_too(monkeypatch, capsys):
    from agrae_jax import config

    def unexpected(argv):
        raise OSError(28, "No space left on device", "/disk/run/prompt.txt")

    with pytest.raises(SystemExit) as caught:
        config.main(unexpected)
    told = capsys.readouterr().err
    assert caught.value.code == CONFIG and told.count("\n") == 1
    assert told.startswith("error: cannot use /disk/run/prompt.txt: No space left")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
