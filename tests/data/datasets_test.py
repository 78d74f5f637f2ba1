"""Data sets by name: what is read, what is refused with file and row, what is told."""

import json

import pytest

from agrae_jax.data import datasets
from agrae_jax.data.problem import Problem
from agrae_jax.errors import UserError
from tests.shared_data import shared_data


def _write(tmp_path, *rows):
    path = tmp_path / "rows.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_jsonl(tmp_path):
    path = _write(
        tmp_path,
        {"id": "a-1", "problem": " 1+1? ", "answer": "2", "level": "Level 1"},
        "",
        {"question": "é?", "gold": 0.5, "type": "Algebra"},
        {"question": "first", "problem": "second", "answer": 7, "subject": "Geometry"},
    )
    assert datasets.load(f"jsonl:{path}", split="train") == [
        Problem(0, "1+1?", "2", level="Level 1", key="a-1"),
        Problem(1, "é?", "0.5", subject="Algebra"),
        Problem(2, "first", "7", subject="Geometry"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "x?"}, "row 2: no field answer or gold; it has question"),
        ({"answer": "1"}, "row 2: no field question or problem; it has answer"),
        ({"question": " ", "answer": "1"}, "row 2: field question is empty"),
        ({"question": ["x"], "answer": "1"}, "row 2: field question is a list"),
        ({"question": "x?", "answer": True}, "row 2: field answer is a bool"),
        ('{"question": "x?"', "row 2: not JSON"),
        ("[1, 2]", "row 2: not a JSON object but list"),
    ],
)
def test_a_bad_row_is_one_line_with_file_and_row(tmp_path, row, message):
    path = _write(tmp_path, {"question": "x?", "answer": "1"}, row)
    with pytest.raises(UserError) as caught:
        datasets.load(f"jsonl:{path}", split="train")
    text = str(caught.value)
    assert f"{path} {message}" in text and "\n" not in text


def test_a_missing_file_and_bytes_that_are_no_text(tmp_path):
    with pytest.raises(UserError, match="nosuch.jsonl: .*No such file"):
        datasets.load(f"jsonl:{tmp_path}/nosuch.jsonl", split="train")
    assert datasets.missing_file(f"jsonl:{tmp_path}/nosuch.jsonl") is not None
    assert datasets.missing_file(f"jsonl:{tmp_path}") is None
    assert datasets.missing_file("arithmetic") is None
    path = tmp_path / "bytes.jsonl"
    path.write_bytes(b'{"question": "\xff"}')
    with pytest.raises(UserError, match="not UTF-8"):
        datasets.load(f"jsonl:{path}", split="train")


def test_empty_golds_repeats_and_duplicate_ids_are_reported(tmp_path, caplog):
    path = _write(
        tmp_path,
        {"id": 1, "question": "a?", "answer": "1"},
        {"id": 1, "question": "b?", "answer": ""},
        {"id": 2, "question": "a?", "answer": "3"},
    )
    with caplog.at_level("WARNING"):
        problems = datasets.load(f"jsonl:{path}", split="train")
    assert [problem.answer for problem in problems] == ["1", "3"]
    told = "\n".join(caplog.messages)
    assert "1 rows without a gold left out: 1" in told
    assert "1 duplicate ids: 1" in told
    assert "1 repeated questions: a?" in told


def test_nothing_to_learn_from_is_an_error(tmp_path):
    path = _write(tmp_path, {"question": "a?", "answer": ""})
    with pytest.raises(UserError, match="no problem with an answer"):
        datasets.load(f"jsonl:{path}", split="train")


def test_overlap_ignores_case_and_space():
    train = [Problem(0, "What is  2 + 2?", "4"), Problem(1, "b?", "1")]
    test = [Problem(0, "what is 2 + 2?\n", "4"), Problem(1, "c?", "1")]
    assert datasets.overlap(train, test) == [test[0]]


def test_names_and_keywords():
    assert datasets.signature_defaults("arithmetic")["size"] == 600
    assert len(datasets.load("arithmetic", split="test", size=7)) == 7
    for name in ("arithmetc", "jsonl:", "json:x"):
        with pytest.raises(UserError, match="known: arithmetic, jsonl:PATH"):
            datasets.load(name, split="train")
    with pytest.raises(UserError, match="data set arithmetic: .*'sise'"):
        datasets.load("arithmetic", split="train", sise=3)


@pytest.mark.parametrize(
    ("name", "rows", "answer"),
    [
        ("math_train.jsonl", 7500, "0"),
        ("gsm8k_test.jsonl", 1319, "18"),
        ("olympiadbench_oe_to_maths_en.jsonl", 675, "2"),
        ("aime2025.jsonl", 30, "70"),
    ],
)
def test_published_sets(name, rows, answer):
    problems = datasets.load(f"jsonl:{shared_data(name)}", split="train")
    assert len(problems) == rows and problems[0].answer == answer


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
