"""Arithmetic problems: right answers, disjoint splits, a stream that never changes."""

import re

import pytest

from agrae_jax.data.arithmetic import DEFAULT_LEVELS, LEVELS, arithmetic
from agrae_jax.errors import UserError

# The answer of each level, worked out from the numbers as they stand in the text.
_FROM_TEXT = {
    "sum": lambda n: sum(n),
    "buys": lambda n: sum(n),
    "difference": lambda n: abs(n[0] - n[1]),  # "subtract 6 from 8" names 6 first
    "product": lambda n: n[0] * n[1],
    "gives": lambda n: n[0] - n[1],
    "gives_buys": lambda n: n[0] - n[1] + n[2],
    "boxes": lambda n: n[0] * n[1],
    "boxes_loose": lambda n: n[0] * n[1] + n[2],
}
_DIGITS = {  # how many digits the operands of a level have
    "sum_1_1": (1, 1),
    "sum_2_1": (2, 1),
    "sum_2_2": (2, 2),
    "sum_3_3": (3, 3),
    "product_2_1": (2, 1),
    "gives_buys_2": (2, 2, 2),
}


def _numbers(text):
    return [int(word) for word in re.findall(r"\d+", text)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_answers_follow_from_the_text(level, split):
    kind = re.sub(r"_(to_\d|\d).*$", "", level)
    problems = arithmetic(split, seed=1, size=20, levels=(level,))
    for problem in problems:
        assert int(problem.answer) == _FROM_TEXT[kind](_numbers(problem.question))
        assert int(problem.answer) >= 0
        assert problem.level == level


@pytest.mark.parametrize("level", _DIGITS)
def test_operands_have_the_digits_of_the_level(level):
    for problem in arithmetic("train", size=50, levels=(level,)):
        lengths = sorted(len(str(number)) for number in _numbers(problem.question))
        assert lengths == sorted(_DIGITS[level])


def test_sum_to_9_has_one_digit_answers():
    answers = {p.answer for p in arithmetic("train", size=100, levels=("sum_to_9",))}
    assert answers <= set("23456789") and len(answers) > 4


def test_first_problems_are_pinned():
    """A change here changes every run: the numbers must not depend on a library."""
    first = arithmetic("train", seed=0, size=6)
    assert [_numbers(p.question) for p in first] == PINNED
    assert first[2].question == "How much is 89 plus 8?"


def test_train_and_test_share_no_operands_whatever_the_seed_and_level():
    def sides(split, seed):
        small = ("sum_to_9", "sum_1_1", "difference_1_1", "product_1_1", "boxes")
        problems = arithmetic(split, seed=seed, size=100, levels=small)
        # the wording decides nothing: what is asked, and of which numbers
        return {
            (p.level.replace("sum_to_9", "sum_1_1"), *sorted(_numbers(p.question)))
            for p in problems
        }

    train = sides("train", 0) | sides("train", 1)
    test = sides("test", 0) | sides("test", 2)
    assert len(train) > 60 and len(test) > 20
    assert not train & test


def test_questions_are_distinct_and_levels_take_turns():
    problems = arithmetic("train", size=62, levels=DEFAULT_LEVELS)
    assert len({p.question for p in problems}) == 62
    assert [p.id for p in problems] == list(range(62))
    assert [p.level for p in problems[:7]] == [*DEFAULT_LEVELS, DEFAULT_LEVELS[0]]


def test_a_level_does_not_depend_on_the_others():
    alone = arithmetic("train", seed=5, size=10, levels=("sum_2_2",))
    mixed = arithmetic("train", seed=5, size=20, levels=("sum_1_1", "sum_2_2"))
    assert [p.question for p in alone] == [p.question for p in mixed[1::2]]


def test_seed_decides():
    questions = [
        [p.question for p in arithmetic("train", seed=seed, size=12)]
        for seed in (0, 0, 1)
    ]
    assert questions[0] == questions[1] != questions[2]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"split": "valid"}, "train and test"),
        ({"split": "train", "levels": ("sum_9_9",)}, "'sum_9_9'.*sum_1_1"),
        ({"split": "train", "levels": ()}, "at least one level"),
        (
            {"split": "test", "size": 1000, "levels": ("sum_to_9",)},
            "sum_to_9 has only 30 distinct test problems, 1000",
        ),
    ],
)
def test_bad_arguments_are_one_line(kwargs, message):
    with pytest.raises(UserError, match=message):
        arithmetic(**kwargs)


PINNED = [[2, 3], [8, 8], [89, 8], [86, 32], [25, 16], [75, 52, 58]]

if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
