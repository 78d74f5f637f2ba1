"""A changed data set is told apart from a changed template."""

import dataclasses

import pytest

from agrae_jax.data import fingerprint
from agrae_jax.data.batches import Encoded
from agrae_jax.data.problem import Problem

ROWS = [
    Encoded(Problem(id=i, question=f"{i}+1?", answer=str(i + 1), level="a"), (i, 7))
    for i in range(3)
]


def changed(**fields):
    problem = dataclasses.replace(ROWS[1].problem, **fields)
    return [ROWS[0], dataclasses.replace(ROWS[1], problem=problem), ROWS[2]]


def test_the_same_rows_have_the_same_fingerprint():
    assert fingerprint.of(ROWS) == fingerprint.of(list(ROWS))
    assert fingerprint.of(ROWS)["problems"] == 3
    assert fingerprint.difference(fingerprint.of(ROWS), fingerprint.of(ROWS)) == ""


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS[:2], "had 3 problems and has 2 now"),
        (ROWS[::-1], "another order"),
        (changed(answer="9"), "other questions, answers"),
        (changed(question="?"), "other questions"),
        (changed(level="b"), "levels"),
        (
            [*ROWS[:2], dataclasses.replace(ROWS[2], tokens=(2, 8))],
            "template or the tokenizer",
        ),
    ],
)
def test_a_difference_is_named(rows, words):
    found = fingerprint.difference(fingerprint.of(ROWS), fingerprint.of(rows))
    assert words in found


def test_a_text_does_not_run_into_the_next_one():
    a = changed(question="1", answer="23")
    b = changed(question="12", answer="3")
    assert fingerprint.of(a)["text"] != fingerprint.of(b)["text"]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
