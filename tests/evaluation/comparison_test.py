"""Paired differences: which pairs, which p-value, which adjustment."""

import pytest

from agrae_jax.errors import UserError
from agrae_jax.evaluation.comparison import compare, differences, matched


def records(counts, n=4, valid=None):
    return [
        {"id": i, "gold": "1", "valid": n if valid is None else valid[i], "correct": c}
        for i, c in enumerate(counts)
    ]


def test_over_questions():
    rows = compare(records([3, 2, 0, 4, 0, 0]), records([4, 2, 0, 4, 1, 0]))
    first = rows["1"]
    assert first["mean"] == pytest.approx(0.0833333)
    assert (first["low"], first["high"]) == (0.0, pytest.approx(0.1666667))
    assert first["questions"] == 6
    assert first["p_questions"] == 0.5  # two nonzero pairs: 2 of 4 signs
    assert "p_runs" not in first
    assert rows.keys() == {"1", "2", "4"}
    assert rows["1"]["p_questions_holm"] == 1.0


def test_over_runs():
    """Differences 1.9, 1.6, 2.1, 1.6 points give t = 14.697, p = 6.833e-4 (df 3)."""
    before = [records([100], n=1000) for _ in range(4)]
    after = [records([100 + d], n=1000) for d in (19, 16, 21, 16)]
    first = differences(before, after)["1"]
    assert first["t"] == pytest.approx(14.696938, abs=1e-5)
    assert first["p_runs"] == pytest.approx(6.833e-4, abs=1e-6)
    assert (first["runs"], first["df"]) == (4, 3)


def test_runs_that_all_differ_alike_have_no_p_value():
    """Two runs of 16 questions each, one more right in both: nothing to test by."""
    before = [records([1] * 16), records([1] * 16)]
    after = [records([2] + [1] * 15), records([1] * 15 + [2])]
    first = differences(before, after)["1"]
    assert first["mean"] == pytest.approx(1 / 64)
    assert first["t"] is first["p_runs"] is first["p_runs_holm"] is None


def test_one_run_a_side_pairs_its_evaluations_and_several_pair_themselves():
    one, two, three = records([1, 2]), records([3, 2]), records([0, 4])
    before, after = matched([[one, two]], [[two, three]])
    assert before == [one, two] and after == [two, three]
    before, after = matched([[one, two], [three]], [[two], [one]])
    assert [r["correct"] for r in before[0]] == [4, 4]
    assert [r["valid"] for r in before[0]] == [8, 8]
    first = differences(before, after)["1"]
    # Runs: (.625 - .5) and (.375 - .5), so t = 0; questions: 0 and 0.
    assert (first["runs"], first["df"]) == (2, 1)
    assert first["t"] == pytest.approx(0, abs=1e-12)
    assert first["mean"] == pytest.approx(0, abs=1e-12)
    alone = differences(*matched([[one], [three]], [[two]]))["1"]
    assert "p_runs" not in alone and alone["mean"] == pytest.approx(0.1875)


def test_a_question_with_nothing_gradable_leaves_the_pairs():
    rows = compare(records([2, 2, 1], valid=[4, 0, 4]), records([3, 2, 1]))
    assert rows["1"]["questions"] == 2
    assert rows["1"]["mean"] == pytest.approx(0.125)


def test_other_problems_are_refused():
    with pytest.raises(UserError, match="do not hold the same problems"):
        compare(records([1, 2]), records([1, 2, 3]))
    other = [row | {"gold": "2"} for row in records([1, 2])]
    with pytest.raises(UserError, match="do not hold the same problems"):
        compare(records([1, 2]), other)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
