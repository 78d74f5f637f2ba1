"""What a run says and when it refuses to go on."""

import pytest

from agrae_jax.errors import UserError
from agrae_jax.evaluator import dataset_slug
from agrae_jax.reporting import DIVERGED, Timer, check_finite, check_ungradable


def test_too_many_ungradable_completions_stop_the_run_and_name_the_field():
    check_ungradable({"ungradable": 0.2}, 7, 0.2)
    check_ungradable({"ungradable": None}, 7, 0.2)
    with pytest.raises(UserError, match=r"step 7: 25% .* verify\.max_ungradable=0\.2"):
        check_ungradable({"ungradable": 0.25}, 7, 0.2)


def test_a_diverged_step_stops_the_run_with_its_own_exit_code():
    fine = {"loss": 0.1, "grad_norm": 2.0, "update_norm": 0.1}
    check_finite(fine, 3)
    with pytest.raises(UserError, match="step 3: grad_norm is nan") as caught:
        check_finite(fine | {"grad_norm": float("nan")}, 3)
    assert caught.value.exit_code == DIVERGED == 4


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
