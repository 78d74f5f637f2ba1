"""The stream: each epoch visits each problem once, in an order that never changes."""

import numpy as np
import pytest

from agrae_jax.data.batches import Stream, encode, eval_batches, prompt_length
from agrae_jax.data.problem import Problem
from agrae_jax.errors import UserError


def _encoded(count, *, first_id=100):
    problems = [
        Problem(id=first_id + i, question="x" * (i + 1), answer=str(i))
        for i in range(count)
    ]
    kept, dropped = encode(problems, lambda text: [7] * len(text), max_tokens=1000)
    assert dropped == 0
    return kept


def test_each_epoch_visits_each_problem_once():
    stream = Stream(_encoded(10), seed=3, batch=4)
    ids = np.concatenate([stream.batch(step).prompts.prompt_id_B for step in range(5)])
    first, second = ids[:10], ids[10:]
    assert sorted(first) == sorted(second) == list(range(100, 110))
    assert list(first) != list(second)  # another order
    assert list(first) != sorted(first)


def test_order_is_pinned():
    """The order comes from raw generator output, which numpy promises to keep."""
    stream = Stream(_encoded(8), seed=0, batch=1)
    assert [list(stream.order(epoch)) for epoch in (0, 1)] == PINNED


def test_a_batch_depends_on_seed_and_step_only():
    a, b = (Stream(_encoded(10), seed=1, batch=4) for _ in range(2))
    other = Stream(_encoded(10), seed=2, batch=4)
    np.testing.assert_array_equal(
        a.batch(7).prompts.tokens_BL, b.batch(7).prompts.tokens_BL
    )
    for step in range(9):
        b.batch(step)  # what was asked for before does not matter
    ids = [s.batch(7).prompts.prompt_id_B.tolist() for s in (a, b, other)]
    assert ids[0] == ids[1] != ids[2]


def test_draws_do_not_depend_on_the_batch_size():
    by_two, by_five = (Stream(_encoded(7), seed=1, batch=size) for size in (2, 5))
    two = [by_two.batch(step).prompts.prompt_id_B for step in range(10)]
    five = [by_five.batch(step).prompts.prompt_id_B for step in range(4)]
    assert np.concatenate(two).tolist() == np.concatenate(five).tolist()


def test_arrays():
    batch = Stream(_encoded(10), seed=0, batch=4).batch(2)
    prompts = batch.prompts
    assert prompts.tokens_BL.shape == (4, 16)  # 10 tokens, rounded up to eights
    assert prompts.draw_B.tolist() == [8, 9, 10, 11]
    for array in (
        prompts.tokens_BL,
        prompts.length_B,
        prompts.draw_B,
        prompts.prompt_id_B,
    ):
        assert array.dtype == np.int32
    for row, length, problem, identity, answer in zip(
        prompts.tokens_BL,
        prompts.length_B,
        batch.problems,
        prompts.prompt_id_B,
        batch.answers,
        strict=True,
    ):
        assert length == len(problem.question)
        assert row.tolist() == [7] * length + [0] * (16 - length)
        assert identity == problem.id and answer == problem.answer
    assert batch.weight_B.tolist() == [1, 1, 1, 1]


def test_position_is_epoch_and_index():
    stream = Stream(_encoded(10), seed=0, batch=4)
    assert [stream.position(step) for step in range(5)] == [
        (0, 0),
        (0, 4),
        (0, 8),
        (1, 2),
        (1, 6),
    ]
    # the batch at a position starts with that epoch's problem of that index
    epoch, index = stream.position(3)
    expected = stream.encoded[stream.order(epoch)[index]].problem.id
    assert stream.batch(3).prompts.prompt_id_B[0] == expected


def test_one_shape_for_the_whole_run():
    stream = Stream(_encoded(9), seed=0, batch=3, length=24)
    shapes = {stream.batch(step).prompts.tokens_BL.shape for step in range(7)}
    assert shapes == {(3, 24)}
    with pytest.raises(UserError, match="9 tokens does not fit length 8"):
        Stream(_encoded(9), seed=0, batch=3, length=8)


@pytest.mark.parametrize(("longest", "length"), [(1, 8), (8, 8), (9, 16)])
def test_prompt_length_is_a_multiple_of_eight(longest, length):
    assert prompt_length(_encoded(longest)) == length


def test_long_prompts_are_dropped_and_counted():
    problems = [
        Problem(id=i, question="x" * n, answer="1") for i, n in enumerate((3, 9, 5))
    ]
    kept, dropped = encode(problems, lambda text: [1] * len(text), max_tokens=5)
    assert [item.problem.id for item in kept] == [0, 2] and dropped == 1
    with pytest.raises(UserError, match="max_prompt_tokens=2 leaves no problem of 3"):
        encode(problems, lambda text: [1] * len(text), max_tokens=2)


def test_eval_batches_go_through_all_in_order_and_fill_with_weight_zero():
    batches = list(eval_batches(_encoded(7), batch=3))
    assert [b.prompts.tokens_BL.shape for b in batches] == [(3, 8)] * 3
    assert [b.weight_B.tolist() for b in batches] == [[1, 1, 1], [1, 1, 1], [1, 0, 0]]
    real = [
        (int(draw), int(identity))
        for b in batches
        for draw, identity, weight in zip(
            b.prompts.draw_B, b.prompts.prompt_id_B, b.weight_B, strict=True
        )
        if weight
    ]
    assert real == [(i, 100 + i) for i in range(7)]
    assert batches[-1].prompts.length_B.min() >= 1  # filled rows are real prompts


def test_eval_noise_does_not_depend_on_the_batch():
    def draws(size):
        found = eval_batches(_encoded(7), batch=size)
        return {
            int(identity): int(draw)
            for b in found
            for draw, identity, weight in zip(
                b.prompts.draw_B, b.prompts.prompt_id_B, b.weight_B, strict=True
            )
            if weight
        }

    assert draws(2) == draws(5) == draws(7)


def test_draw_numbers_stay_in_int32():
    with pytest.raises(UserError, match="int32"):
        Stream(_encoded(3), seed=0, batch=1024).batch(2**21)


def test_the_shared_prefix_is_left_out_but_counts():
    problems = [Problem(id=i, question="q", answer="1") for i in range(3)]
    kept, dropped = encode(problems, lambda _: [5, 6, 7, 8], max_tokens=4, prefix=[5])
    assert [item.tokens for item in kept] == [(6, 7, 8)] * 3 and dropped == 0
    with pytest.raises(UserError, match=r"max_prompt_tokens=3.* has 4 tokens"):
        encode(problems, lambda _: [5, 6, 7, 8], max_tokens=3, prefix=[5])
    with pytest.raises(UserError, match=r"model\.share_prefix=False"):
        encode(problems, lambda _: [5, 6, 7, 8], max_tokens=4, prefix=[6])


PINNED = [[0, 2, 1, 5, 4, 3, 6, 7], [5, 3, 7, 2, 4, 1, 0, 6]]

if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
