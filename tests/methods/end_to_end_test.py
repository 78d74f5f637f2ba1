"""Methods that change what is sampled, through real steps of the smoke config."""

import dataclasses

import jax
import numpy as np
import pytest

from agrae_jax import build
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.feed import Feed, take_step
from agrae_jax.metrics import finalize
from tests.step_test import world

SMALL = (
    "--config.model.kwargs.num_hidden_layers=1",
    "--config.model.kwargs.hidden_size=16",
    "--config.model.kwargs.num_attention_heads=2",
    "--config.model.kwargs.num_key_value_heads=1",
    "--config.updates.mini_batches=1",
    "--config.updates.micro_batches=1",
)


class Run:
    """Takes steps of one method; `values` are the metrics of the last one."""

    def __init__(self, *overrides):
        _, self.mesh, model, method, _, stream, self.state, self.fns = world(
            *SMALL, *overrides
        )
        self.feed = Feed(stream, method)
        self.ref = build.reference_params(model, method)
        self.stream = stream

    def step(self, number):
        with jax.set_mesh(self.mesh):
            self.state, metrics, self.seen, self.batch = take_step(
                self.feed, self.state, number, fns=self.fns, ref_params=self.ref
            )
            self.values = finalize(jax.device_get(metrics))
        return self.values


def assert_same(a, b):
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(a), jax.device_get(b))


def test_dynamic_sampling_fills_the_batch_and_goes_on_where_it_stopped():
    run = Run(
        "--config.method.name=dapo",
        "--config.method.kwargs.dynamic_sampling=True",
        "--config.method.kwargs.max_batches=4",
    )
    drawn = 0
    for number in range(3):
        values = run.step(number)
        assert int(run.state.method_state["rounds"]) == drawn + values["rounds"]
        draw = np.asarray(run.seen.rollout.prompts.draw_B)
        assert (draw >= 4 * drawn).all() and (draw < 4 * (drawn + 4)).all()
        np.testing.assert_array_equal(draw, run.batch.prompts.draw_B)
        drawn += int(values["rounds"])
        if values["rounds"] < 4:
            assert values["none_solved"] == values["all_solved"] == 0.0
    assert drawn > 3  # or nothing was ever drawn again


@pytest.mark.slow
def test_remax_with_a_kl_in_the_reward_and_gains_measured():
    run = Run(
        "--config.method.name=remax",
        "--config.loss.kl_reward_coef=0.01",
        "--config.log.gain_every=2",
        "--config.optim.learning_rate=0.01",
    )
    first = run.step(0)
    assert "gain_correct_sum" not in first
    # Nothing has moved from the reference yet.
    assert first["reward"] == pytest.approx(first["correct"], abs=1e-6)
    second = run.step(1)
    assert second["reward"] != second["correct"]
    assert abs(second["gain_wrong_sum"]) > 1e-4
    ratio = second["gain_wrong_sum"] / second["gain_wrong_mean"]
    assert 1 < ratio < 17  # a length


def test_a_curriculum_goes_on_from_a_checkpoint(tmp_path):
    overrides = (
        "--config.method.name=sec",
        "--config.method.kwargs.temperature=0.2",
        "--config.data.train_kwargs.levels=('sum_to_9','sum_2_1')",
    )
    run = Run(*overrides)
    run.step(0)
    values = run.step(1)
    assert np.asarray(run.state.method_state["curriculum"]).max() > 0
    assert values["curriculum/sum_to_9"] + values["curriculum/sum_2_1"] == (
        pytest.approx(1.0)
    )
    saved = Checkpoints(tmp_path / "checkpoints", keep=1)
    saved.save(2, run.state, {})
    saved.wait()
    found = saved.restore_latest(build.abstract(run.state))
    assert found is not None
    saved.close()
    run.step(2)
    unbroken, problems = run.state, run.batch.problems
    run.state = found[1]
    run.feed = Feed(run.stream, run.feed._method)
    run.step(2)
    assert run.batch.problems == problems
    assert_same(unbroken, run.state)


@pytest.mark.slow
def test_a_step_of_grpo_costs_no_more_forwards_than_before():
    run = Run("--config.method.name=grpo")
    run.step(0)
    assert run.fns.logprobs.compiles() == 0
    assert run.fns.greedy is None and run.fns.refill == 0
    assert dataclasses.asdict(run.seen)["picked"] is None


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
