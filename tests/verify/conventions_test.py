"""golden/conventions.jsonl: [gold, boxed answer, whether it is correct], by hand."""

import json
import pathlib

import pytest

from agrae_jax.verify.grade import decide, quick

CASES = pathlib.Path(__file__).parent / "golden" / "conventions.jsonl"


def test_every_convention_holds():
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    wrong = []
    for gold, answer, expected in rows:
        outcome = (quick(gold, answer) or decide(gold, answer))[0]
        if (outcome == "correct") != expected:
            wrong.append((gold, answer, expected, outcome))
    assert wrong == []
    assert len(rows) > 900 and 300 < sum(not r[2] for r in rows)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
