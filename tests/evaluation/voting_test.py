"""Answer classes: the grader's equality, numbers by value, no answer never votes."""

import pytest

from agrae_jax.evaluation.voting import MOST_COMPARED, answer_classes


def row(answer, outcome="wrong"):
    return {"answer": answer, "outcome": outcome}


def test_classes_without_a_grader_go_by_the_text():
    rows = [
        row("5", "correct"),
        row("7"),
        row("x  y"),
        row("7.0"),
        row(None),
        row("x y"),
        row("\\frac{10}{2}", "correct"),
        row("8", "ungradable"),
        row("7"),
    ]
    assert answer_classes([rows], None) == [[0, 1, 2, 3, -1, 2, 0, None, 1]]


def test_a_grader_merges_and_numbers_need_none():
    asked = []

    def same(pairs):
        asked.extend(pairs)
        return [{"0.5", "half"} == set(pair) for pair in pairs]

    rows = [row("half"), row("0.5"), row("1/2"), row("7"), row("half"), row("zero")]
    assert answer_classes([rows, [row("7"), row("7.")]], same) == [
        [1, 1, 1, 2, 1, 3],
        [1, 1],
    ]
    assert not any("1/2" in pair for pair in asked) and ("7.", "7") not in asked


def test_comparisons_are_bounded():
    asked = 0

    def same(pairs):
        nonlocal asked
        asked += len(pairs)
        return [False] * len(pairs)

    rows = [row(f"x_{i}") for i in range(200)]
    (classes,) = answer_classes([rows], same)
    assert classes == list(range(1, 201))
    assert asked == sum(200 - 1 - i for i in range(MOST_COMPARED))


def test_the_grader_of_mathematics_merges_what_it_calls_equal():
    from agrae_jax.verify.grade import grade

    def same(pairs):
        return [grade(f"\\boxed{{{a}}}", b).correct for a, b in pairs]

    rows = [row("\\frac{1}{2}x"), row("x/2"), row("0.5x"), row("x"), row("(1,2)")]
    assert answer_classes([rows], same) == [[1, 1, 1, 2, 3]]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
