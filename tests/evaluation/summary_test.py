"""Numbers of an evaluation from counts, against literal values."""

import pytest

from agrae_jax.evaluation.summary import metric, pass_table, summarize


def record(i, correct, votes, **fields):
    base = {"id": i, "level": "a", "subject": "s", "samples": 4, "valid": 4}
    base |= {"correct": correct, "answered": 4, "truncated": 1, "tokens": 10}
    return base | {"entropy_sum": 5.0, "votes": votes} | fields


def greedy(outcome, tokens, truncated):
    entropy = {"entropy_sum": tokens / 2}
    return {"outcome": outcome, "tokens": tokens, "truncated": truncated} | entropy


RECORDS = [
    record(0, 2, [2, 1, 1], greedy=greedy("correct", 3, False)),
    record(1, 2, [2, 2], level="b", greedy=greedy("wrong", 5, True)),
]


def test_the_vectors():
    result = summarize(RECORDS)
    first = summarize(RECORDS[:1])
    assert first["pass@k"]["2"]["mean"] == pytest.approx(5 / 6)
    assert [first["maj@k"][k]["mean"] for k in ("1", "2", "4")] == pytest.approx(
        [0.5, 0.5, 1.0]
    )
    assert summarize(RECORDS[1:])["maj@k"]["4"]["mean"] == pytest.approx(0.5)
    assert result["maj@k"]["4"]["mean"] == pytest.approx(0.75)
    assert result["avg@n"] == result["pass@k"]["1"]
    assert result["avg@n"]["mean"] == pytest.approx(0.5)
    assert result["greedy"]["mean"] == 0.5
    assert result["greedy"]["mean_entropy"] == 0.5
    assert result["greedy"]["truncated"] == 0.5
    assert result["mean_entropy"] == 0.5 and result["mean_tokens"] == 2.5
    assert result["truncated"] == 0.25 and result["ungradable"] == 0.0
    assert result["by_level"]["b"]["2"] == pytest.approx(5 / 6)
    assert result["by_subject"].keys() == {"s"}


def test_metrics_by_name():
    result = summarize(RECORDS)
    assert metric(result, "pass@1") == pytest.approx(0.5)
    assert metric(result, "maj@4") == pytest.approx(0.75)
    assert metric(result, "greedy") == 0.5
    assert metric(result, "avg@n") == pytest.approx(0.5)
    assert metric(result, "mean_entropy") == 0.5
    assert metric(result, "pass@64") is None and metric(result, "nothing") is None


def test_records_of_before_votes_and_with_nothing_gradable():
    old = [{k: v for k, v in RECORDS[0].items() if k not in ("votes", "greedy")}]
    result = summarize(old)
    assert result["maj@k"] == {} and result["greedy"] is None
    lost = [record(0, 0, [0], valid=0)]
    assert pass_table(lost) == {} and summarize(lost)["avg@n"] is None
    assert summarize([]) == {"problems": 0}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
