"""golden/adversarial.jsonl: [gold, completion, whether it is correct], by hand.

All kinds of golds, each with usual and unusual spellings, near misses, and answers that
hedge: lists of guesses, ranges, tautologies, words of doubt.
"""

import json
import pathlib

import pytest

from agrae_jax.verify.grade import grade

CASES = pathlib.Path(__file__).parent / "golden" / "adversarial.jsonl"


def test_every_case_is_judged_as_by_hand():
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    wrong = []
    for gold, completion, expected in rows:
        outcome = grade(completion, gold).outcome
        if outcome != ("correct" if expected else "wrong"):
            wrong.append((gold, completion, expected, outcome))
    assert wrong == []
    assert len(rows) > 500 and sum(not row[2] for row in rows) > 200


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
