"""The public bank and two files of real completions, where they are at hand."""

import json

import pytest

from agrae_jax.verify import cases, verifiers
from agrae_jax.verify.grade import grade
from agrae_jax.verify.pool import Pool
from tests.shared_data import shared_data


def test_the_public_bank():
    rows = cases.read(str(shared_data("verifier_public.jsonl")), "gold", "response")
    with Pool(workers=2, deadline_s=5) as pool:
        verdicts, seconds = cases.grade(rows, pool)
    report = cases.summary(rows, verdicts, seconds)
    assert report["known"] == 933
    assert report["accuracy"] >= 0.99
    assert report["false_positive_rate"] <= 0.003
    assert [v for v in verdicts if v.rule in ("deadline", "error", "worker")] == []


def test_real_completions_of_math():
    """800 completions with the labels of another grader; one label is a fault of it:
    it calls 10000 wrong for a gold 10{,}000 (docs/verifier.md)."""
    disagreements = []
    for line in shared_data("responses_math_qwen.jsonl").read_text().splitlines():
        row = json.loads(line)
        for k, text in enumerate(row["responses"]):
            verdict = grade(text, row["answer"])
            if verdict.correct != bool(row["published_score"][k]):
                disagreements.append((row["id"], k, row["answer"], verdict.answer))
    assert disagreements == [("resp-qwen-72", 7, "10{,}000", "10000")]


def test_real_completions_of_gsm8k():
    disagreements = []
    for line in shared_data("responses_gsm8k_gpt3.jsonl").read_text().splitlines():
        row = json.loads(line)
        for name, given in row["responses"].items():
            verdict = verifiers.gsm8k(given["solution"], row["answer"])
            if verdict.correct != given["is_correct"]:
                disagreements.append((row["id"], name))
    assert disagreements == []


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
