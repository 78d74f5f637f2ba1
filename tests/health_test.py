"""When a run warns and when it stops, from its metrics alone."""

import math

import pytest

from agrae_jax.errors import DATA, DIVERGED, UserError
from agrae_jax.health import MOST_SKIPPED, Health, check_ungradable, not_finite

WELL = {
    "loss": 0.1,
    "grad_norm": 2.0,
    "update_norm": 0.1,
    "entropy": 0.8,
    "sampler_diff": 0.0,
    "dead_groups": 0.5,
    "truncated": 0.2,
    "length": 12.0,
}


def warnings_of(*steps):
    health = Health()
    return [health.warnings(WELL | step) for step in steps]


def test_a_reward_that_is_constant_over_many_steps():
    found = warnings_of(*[{"dead_groups": 1.0}] * 10, {}, *[{"dead_groups": 1.0}] * 5)
    said = [number for number, lines in enumerate(found, start=1) if lines]
    assert said == [5, 10, 16]  # five in a row, twice that; and again after a good one
    (line,) = found[4]
    assert "nothing is learned for 5 steps" in line and "pass_rate/*" in line


def test_an_all_truncated_batch():
    (line,) = warnings_of({"truncated": 1.0})[0]
    assert "every completion was cut off" in line and "max_new_tokens" in line
    assert warnings_of({"truncated": 0.99}) == [[]]


def test_an_entropy_collapse():
    found = warnings_of({"entropy": 1.0}, *[{"entropy": 0.019}] * 3)
    assert found[:3] == [[], [], []]
    (line,) = found[3]
    assert "entropy has collapsed" in line and "optim.learning_rate" in line
    assert warnings_of({"entropy": 1.0}, *[{"entropy": 0.021}] * 3) == [[]] * 4


def test_empty_completions():
    (line,) = warnings_of({"length": 1.0, "truncated": 0.0})[0]
    assert "every completion is empty" in line and "data.template" in line


def test_a_resumed_run_warns_as_an_unbroken_one():
    dead = WELL | {"dead_groups": 1.0}
    assert Health([dead] * 4).warnings(dead) and not Health([dead] * 3).warnings(dead)


def test_a_diverged_step_stops_the_run_with_its_own_exit_code():
    assert Health().check_finite(WELL, 3, skip=False) == ""
    bad = WELL | {"grad_norm": math.nan}
    with pytest.raises(UserError, match="step 3: grad_norm is nan: the run") as caught:
        Health().check_finite(bad, 3, skip=False)
    assert caught.value.exit_code == DIVERGED == 4
    assert "faults/" in str(caught.value) and "--step=3" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["loss", "grad_norm", "update_norm", "entropy", "sampler_diff"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_loss_gradients_and_log_probs_must_be_numbers(name, value):
    assert not_finite(WELL | {name: value}) == [name]
    assert not_finite(WELL | {name: None}) == []


def test_skipped_steps_are_said_and_too_many_stop_the_run():
    bad, health = WELL | {"loss": math.inf}, Health()
    for step in range(1, MOST_SKIPPED + 1):
        line = health.check_finite(bad, step, skip=True)
        assert f"step {step}: loss is inf: its update is skipped" in line
    assert health.check_finite(WELL, 6, skip=True) == ""
    logged = Health([WELL, *[bad] * MOST_SKIPPED])
    with pytest.raises(UserError, match="for 6 steps in a row: the run diverged"):
        logged.check_finite(bad, 7, skip=True)


def test_too_many_ungradable_completions_stop_the_run_and_name_the_field():
    check_ungradable({"ungradable": 0.2}, 7, 0.2)
    check_ungradable({"ungradable": None}, 7, 0.2)
    with pytest.raises(
        UserError, match=r"step 7: 25% .* verify\.max_ungradable=0\.2"
    ) as e:
        check_ungradable({"ungradable": 0.25}, 7, 0.2)
    assert e.value.exit_code == DATA == 5


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
