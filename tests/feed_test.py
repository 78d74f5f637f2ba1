"""The feed: prompts by the stream, by refills and by a curriculum."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import methods
from agrae_jax.data.batches import Encoded, Stream
from agrae_jax.data.problem import Problem
from agrae_jax.errors import UserError
from agrae_jax.feed import Feed
from agrae_jax.step import Seen
from agrae_jax.types import Graded, TrainState

LEVELS = ("easy", "hard", "middle")
B, G = 8, 4


def stream(levels=LEVELS, size=24):
    encoded = [
        Encoded(Problem(i, f"q{i}", f"a{i}", level=levels[i % len(levels)]), (1, 2))
        for i in range(size)
    ]
    return Stream(encoded, seed=7, batch=B)


def state_of(method):
    kept = jax.device_put(method.init_state(), jax.devices()[0])
    return TrainState(jnp.int32(0), {}, (), kept)


def seen(advantage=None, picked=None, rounds=1):
    graded = Graded(*[np.ones((B, G), np.float32)] * 3)
    advantage = np.zeros((B, G)) if advantage is None else advantage
    return Seen(None, graded, [], None, advantage, picked, rounds)


def test_without_a_plan_of_its_own_a_method_takes_the_stream():
    method = methods.resolve("a_grae")
    feed, state = Feed(stream(), method), state_of(method)
    batch = feed.start(state, 3)
    np.testing.assert_array_equal(batch.prompts.draw_B, 24 + np.arange(8))
    assert batch.problems == stream().batch(3).problems
    after, same = feed.finish(state, seen())
    assert after is state and feed.levels() == {}
    assert same.problems == batch.problems


def test_a_refill_moves_on_by_the_batches_that_were_drawn():
    method = methods.resolve("dapo", dynamic_sampling=True)
    feed, state = Feed(stream(), method), state_of(method)
    first = feed.start(state, 0)
    second, answers = feed.more(1)
    np.testing.assert_array_equal(second.draw_B, 8 + np.arange(8))
    assert answers == stream().batch(1).answers
    picked = np.array([[0, 0], [0, 5], [1, 1], [1, 7]] * 2)
    state, used = feed.finish(state, seen(picked=picked, rounds=2))
    assert int(state.method_state["rounds"]) == 2
    assert used.problems[1] == first.problems[5]
    np.testing.assert_array_equal(used.prompts.draw_B[:4], [0, 5, 9, 15])
    # Another process that resumes from this state draws the same.
    later = Feed(stream(), method).start(state, 1)
    np.testing.assert_array_equal(later.prompts.draw_B, 16 + np.arange(8))


def test_a_curriculum_draws_levels_by_their_value_and_goes_on_after_a_restart():
    method = methods.resolve("sec", temperature=0.05)
    state = state_of(method)
    feed = Feed(stream(), method)
    counts = {level: 0 for level in LEVELS}
    for step in range(30):
        for problem in feed.start(state, step).problems:
            counts[problem.level] += 1
    assert min(counts.values()) > 50  # 80 each are expected

    # Only problems of the level "hard" had advantages.
    batch = feed.start(state, 30)
    hard = np.array([p.level == "hard" for p in batch.problems], np.float32)
    state, _ = feed.finish(state, seen(advantage=hard[:, None] * np.ones((B, G))))
    value = np.asarray(state.method_state["curriculum"])
    np.testing.assert_allclose(value[:3], [0.0, 0.5, 0.0])
    chosen = feed.start(state, 31)
    assert all(problem.level == "hard" for problem in chosen.problems)
    assert len({problem.id for problem in chosen.problems}) > 1
    np.testing.assert_array_equal(chosen.prompts.draw_B, 31 * 8 + np.arange(8))
    again = Feed(stream(), method).start(state, 31)
    assert again.problems == chosen.problems
    assert feed.levels()["hard"] > 0.99


def test_a_curriculum_needs_levels():
    method = methods.resolve("sec", arms=2)
    with pytest.raises(UserError, match="data.train has 3"):
        Feed(stream(), method)
    with pytest.raises(UserError, match="data.train has 1"):
        Feed(stream(levels=("",)), method)
    Feed(stream(levels=("",)), dataclasses.replace(method, curriculum=None))


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
