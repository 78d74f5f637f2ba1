"""Benchmarks by name: their files, their protocols, their page of the docs."""

from pathlib import Path

import pytest

from agrae_jax.data import benchmarks, datasets
from agrae_jax.errors import UserError
from tests.shared_data import shared_data

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(
    ("name", "split", "rows", "first"),
    [
        ("math", "train", 7500, "0"),
        ("math", "test", 5000, "2"),
        ("math500", "test", 500, "\\left( 3, \\frac{\\pi}{2} \\right)"),
        ("aime24", "test", 30, "204"),
        ("aime25", "test", 30, "70"),
        ("amc23", "test", 40, "27"),
        ("olympiadbench", "test", 675, "2"),
        ("gsm8k", "train", 7473, "72"),
        ("gsm8k", "test", 1319, "18"),
    ],
)
def test_published_files(name, split, rows, first, caplog):
    folder = shared_data("math500.jsonl").parent
    problems = datasets.load(name, split=split, folder=str(folder))
    assert len(problems) == rows and problems[0].answer == first
    assert "published are" not in caplog.text


def test_where_a_file_is_looked_for(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(benchmarks.FOLDER_VARIABLE, raising=False)
    assert benchmarks.find("amc23", "test") == (Path("data/amc23.jsonl"), 40)
    with pytest.raises(UserError, match="amc23.jsonl does not exist: set .AGRAE_JAX"):
        datasets.load("amc23", split="test")
    monkeypatch.setenv(benchmarks.FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "amc23.jsonl").write_text('{"problem": "1+1?", "answer": "2"}\n')
    with caplog.at_level("WARNING"):
        assert len(datasets.load("amc23", split="test")) == 1
    assert "amc23.jsonl has 1 rows, published are 40" in caplog.text
    with pytest.raises(UserError, match="does not exist"):
        datasets.load("amc23", split="test", folder=str(tmp_path / "else"))
    with pytest.raises(UserError, match="amc23 has no train split, only test"):
        datasets.load("amc23", split="train")


def test_protocols():
    a_grae = benchmarks.protocol("math", "a_grae")
    assert a_grae.fields() == {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 0,
        "samples": 256,
        "max_new_tokens": 4096,
    }
    assert a_grae.runs == 4 and benchmarks.protocol("amc23", "a_grae").runs == 16
    asym = benchmarks.protocol("aime24", "asym_grpo")
    assert (asym.temperature, asym.samples) == (0.4, 10)
    with pytest.raises(UserError, match="a_grae has no protocol for gsm8k; it .* math"):
        benchmarks.protocol("gsm8k", "a_grae")
    with pytest.raises(UserError, match="evaluates on nothing here"):
        benchmarks.protocol("math", "nobody")


def test_protocols_name_fields_of_the_config():
    from configs import base

    fields = benchmarks.protocol("math", "a_grae").fields()
    assert set(fields) <= set(base.get_config().eval)


def test_docs_are_current():
    """Make them again: python -m agrae_jax.data.benchmarks > docs/datasets.md"""
    assert (ROOT / "docs" / "datasets.md").read_text() == benchmarks.markdown()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
