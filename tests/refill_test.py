"""Dynamic sampling: which groups a refilled batch holds, and what omega is of."""

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.refill import Round, fill
from agrae_jax.types import Graded, PromptBatch, Rollout

B, G = 4, 2
DEAD, SOLVED, MIXED = [0, 0], [1, 1], [1, 0]


def stream(*batches):
    """(roll, draw_more, prompts, answers, calls) of batches of correctness tables."""
    tables = [np.array(batch, np.float32) for batch in batches]
    calls = []

    def prompts(number):
        draw = number * B + np.arange(B, dtype=np.int32)
        zeros = np.zeros((B, 1), np.int32)
        batch = PromptBatch(zeros, np.ones(B, np.int32), jnp.asarray(draw), draw)
        return batch, [f"gold {d}" for d in draw]

    def roll(batch, answers):
        number = int(batch.draw_B[0]) // B
        calls.append(number)
        correct = jnp.asarray(tables[number])
        shape = (B, G)
        rollout = Rollout(
            prompts=PromptBatch(
                *(jnp.asarray(x) for x in vars(batch).values()),
            ),
            completion_BGT=jnp.full((*shape, 3), number),
            length_BG=jnp.ones(shape, jnp.int32),
            stop_BG=jnp.ones(shape, jnp.int32),
            logprob_BGT=jnp.zeros((*shape, 3)),
            entropy_BGT=jnp.zeros((*shape, 3)),
        )
        valid = (correct >= 0).astype(jnp.float32)
        graded = Graded(jnp.maximum(correct, 0), valid, valid)
        verdicts = [[f"{number}.{b}.{g}" for g in range(G)] for b in range(B)]
        return Round(rollout, graded, verdicts)

    return roll, prompts, *prompts(0), calls


def run(*batches, limit=10):
    roll, draw_more, prompts, answers, calls = stream(*batches)
    return fill(roll, prompts, answers, draw_more, limit=limit), calls


def test_a_method_that_does_not_refill_takes_the_batch_as_it_is():
    filled, calls = run([DEAD, SOLVED, MIXED, DEAD], limit=0)
    assert calls == [0] and filled.picked is None and filled.omega is None
    assert filled.metrics == {}


def test_a_full_batch_is_not_drawn_again():
    filled, calls = run([MIXED] * 4)
    assert calls == [0] and filled.rounds == 1
    np.testing.assert_array_equal(filled.picked, [[0, 0], [0, 1], [0, 2], [0, 3]])


def test_mixed_groups_are_taken_in_the_order_drawn_until_the_batch_is_full():
    filled, calls = run(
        [DEAD, MIXED, SOLVED, MIXED],
        [DEAD, DEAD, SOLVED, DEAD],
        [MIXED, DEAD, MIXED, MIXED],
        [MIXED] * 4,
    )
    assert calls == [0, 1, 2] and filled.rounds == 3
    np.testing.assert_array_equal(filled.picked, [[0, 1], [0, 3], [2, 0], [2, 2]])
    rollout = filled.round.rollout
    np.testing.assert_array_equal(rollout.prompts.draw_B, [1, 3, 8, 10])
    np.testing.assert_array_equal(rollout.completion_BGT[:, 0, 0], [0, 0, 2, 2])
    np.testing.assert_array_equal(filled.round.graded.correct_BG, [MIXED] * 4)
    assert list(filled.answers) == ["gold 1", "gold 3", "gold 8", "gold 10"]
    assert [row[1] for row in filled.round.verdicts] == [
        "0.1.1",
        "0.3.1",
        "2.0.1",
        "2.2.1",
    ]
    # Right are 4, 2 and 3 of the 24 completions that were drawn.
    assert float(filled.omega) == pytest.approx(9 / 24)
    assert float(filled.metrics["rounds"][0]) == 3
    assert [float(x) for x in filled.metrics["mixed_groups"]] == [5, 12]


def test_at_the_limit_the_first_of_the_others_fill_up():
    filled, calls = run(
        [DEAD, MIXED, SOLVED, DEAD], [DEAD, SOLVED, MIXED, DEAD], limit=2
    )
    assert calls == [0, 1]
    np.testing.assert_array_equal(filled.picked, [[0, 1], [1, 2], [0, 0], [0, 2]])


def test_an_ungradable_completion_makes_no_group_mixed():
    filled, _ = run([[1, -1], [0, -1], MIXED, MIXED], limit=1)
    np.testing.assert_array_equal(filled.picked, [[0, 2], [0, 3], [0, 0], [0, 1]])
    assert float(filled.omega) == pytest.approx(3 / 6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
