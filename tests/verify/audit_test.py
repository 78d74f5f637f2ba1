"""The second opinion on a sample of verdicts."""

import pytest

from agrae_jax.verify import audit
from agrae_jax.verify.types import Verdict


def verdict(outcome):
    return Verdict(outcome, "0.5", (0, 11), "number", "", 0.1)


def test_disagreements_are_kept():
    items = [("\\boxed{0.5}", "\\frac12"), ("\\boxed{0.6}", "\\frac12")]
    second = audit.SecondOpinion(share=1.0, deadline_s=20)
    try:
        second.submit(items, [verdict("correct"), verdict("correct")])
        compared, unanswered, found = second.collect(3)
    finally:
        second.close()
    assert (compared, unanswered) == (2, 0)
    assert [(r["step"], r["gold"], r["outcome"], r["second"]) for r in found] == [
        (3, "\\frac12", "correct", "wrong")
    ]
    assert second.collect(4) == (0, 0, [])


def test_the_sample_depends_on_the_items_alone():
    draws = [audit._draw(f"completion {n}", "5") for n in range(400)]
    assert draws == [audit._draw(f"completion {n}", "5") for n in range(400)]
    assert 0.35 < sum(d < 0.5 for d in draws) / 400 < 0.65
    assert all(0 <= d < 1 for d in draws)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
