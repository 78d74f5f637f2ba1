"""golden/blind.jsonl: [gold, completion, whether it is correct], reasoned by hand.

The cases were written without sight of the verifier, from what the answers mean.
"""

import json
import pathlib

import pytest

from agrae_jax.verify.grade import grade

CASES = pathlib.Path(__file__).parent / "golden" / "blind.jsonl"
LIMITS = [("5050", r"\(\boxed{1+2+\cdots+100}\)")]  # docs/verifier.md, Limits


def test_every_case_but_the_known_limit_is_judged_as_by_hand():
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    wrong = [
        (gold, completion)
        for gold, completion, expected in rows
        if grade(completion, gold).correct != expected
    ]
    assert wrong == LIMITS
    assert len(rows) > 600 and sum(not row[2] for row in rows) > 300


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
