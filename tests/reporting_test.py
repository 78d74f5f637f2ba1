"""What a run says and how it times its phases."""

import pytest

from agrae_jax.evaluator import dataset_slug
from agrae_jax.reporting import Timer


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("arithmetic", "arithmetic"),
        ("jsonl:data/gsm8k_test.jsonl", "gsm8k_test"),
        ("parquet:a/b.c/test.parquet", "test"),
        ("tfds:my_set", "my_set"),
    ],
)
def test_results_are_named_after_the_data_set(name, slug):
    assert dataset_slug(name) == slug


def test_a_timer_adds_up_phases_by_name():
    timer = Timer()
    for name in ("sample", "learn", "sample"):
        timer.start(name)
    timer.stop()
    assert timer.seconds.keys() == {"sample", "learn"}
    assert all(spent >= 0 for spent in timer.seconds.values())


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
