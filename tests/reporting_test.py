"""What a run says and how it times its phases."""

from types import SimpleNamespace

import pytest

from agrae_jax import config
from agrae_jax.console import Console
from agrae_jax.evaluator import dataset_slug
from agrae_jax.reporting import EpochCount, Timer, announce
from tests.source_tree import ROOT

SMOKE = ROOT / "configs" / "smoke.py"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("arithmetic", "arithmetic"),
        ("jsonl:data/gsm8k_test.jsonl", "gsm8k_test"),
        ("parquet:a/b.c/test.parquet", "test"),
        ("jsonl:../../etc/passwd", "passwd"),  # no way out of the run directory
        ("jsonl:../..", "dataset"),
        ("tfds:my_set", "my_set"),
    ],
)
def test_results_are_named_after_the_data_set(name, slug):
    assert dataset_slug(name) == slug


def test_unsolved_problems_are_counted_over_an_epoch_and_across_a_resume():
    right, wrong = True, False
    count = EpochCount(5)
    one = count.add([0, 1, 2], [right, wrong, wrong])
    assert one == {"epoch": 0, "epoch_seen": 3, "epoch_unsolved": 2}
    # Draws 3 and 4 end the first epoch of 5 problems, 5 begins the second.
    batch = [3, 4, 5], [wrong, right, wrong]
    assert count.add(*batch) == {"epoch": 1, "epoch_seen": 1, "epoch_unsolved": 1}
    resumed = EpochCount(5, [{"step": 1} | one])
    assert resumed.add(*batch) == {"epoch": 1, "epoch_seen": 1, "epoch_unsolved": 1}
    shorter = batch[0][:2], batch[1][:2]
    resumed = EpochCount(5, [{"step": 1} | one])
    assert resumed.add(*shorter) == {"epoch": 0, "epoch_seen": 5, "epoch_unsolved": 3}


@pytest.mark.parametrize(("name", "said"), [("paec_like", True), ("grpo", False)])
def test_an_experimental_method_says_so_at_the_start(name, said, capsys):
    parsed = config.parse([f"--config={SMOKE}", f"--config.method.name={name}"])
    run = SimpleNamespace(path="runs/x", notes=[])
    announce(Console(), parsed.config, run)
    captured = capsys.readouterr()
    assert ("experimental" in captured.out + captured.err) == said


def test_a_timer_adds_up_phases_by_name():
    timer = Timer()
    for name in ("sample", "learn", "sample"):
        timer.start(name)
    timer.stop()
    assert timer.seconds.keys() == {"sample", "learn"}
    assert all(spent >= 0 for spent in timer.seconds.values())


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
