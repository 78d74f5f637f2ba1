"""`python -m agrae_jax.verify`: cases, gold audit, and bad input in one line."""

import json
import re
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from agrae_jax.errors import UserError
from agrae_jax.verify import cases
from agrae_jax.verify.__main__ import main


def run(*args):
    return subprocess.run(
        [sys.executable, "-m", "agrae_jax.verify", *args],
        capture_output=True,
        text=True,
        timeout=120,
    )


def write(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return str(path)


def test_cases_are_graded_and_summed_up(tmp_path):
    rows = [
        {"id": "a", "gold": "42", "response": "\\boxed{42}", "expected": True},
        {"id": "b", "gold": "x+1", "response": "\\boxed{1+x}", "expected": True},
        {"id": "c", "gold": "3", "response": "none", "expected": True, "kind": "k"},
        {"id": "d", "gold": "1/2", "response": "\\boxed{0.5}", "expected": False},
        {"id": "e", "gold": "", "response": "\\boxed{0.5}"},
    ]
    out = tmp_path / "out.jsonl"
    done = run(f"--cases={write(tmp_path / 'c.jsonl', rows)}", f"--out={out}")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["cases"], report["known"], report["ungradable"]) == (5, 4, 1)
    assert (report["false_positives"], report["false_negatives"]) == (1, 1)
    assert report["accuracy"] == 0.5 and report["by_kind"]["k"]["accuracy"] == 0.0
    got = [json.loads(line) for line in out.read_text().splitlines()]
    assert [g["id"] for g in got] == list("abcde")
    assert [g["outcome"] for g in got][:3] == ["correct", "correct", "wrong"]
    assert got[1]["answer"] == "1+x" and got[1]["span"] == [0, 11]
    assert got[0]["rule"] == "number" and got[0]["ms"] >= 0


def test_what_is_read_is_never_written_over(tmp_path):
    rows = [{"gold": "1", "response": "\\boxed{1}"}]
    path = write(tmp_path / "c.jsonl", rows)
    before = (tmp_path / "c.jsonl").read_text()
    for flag in (f"--cases={path}", f"--audit=jsonl:{path}"):
        with pytest.raises(UserError, match="is the file that is read: name another"):
            main([flag, f"--out={tmp_path}/./c.jsonl"])
    assert (tmp_path / "c.jsonl").read_text() == before


@pytest.mark.parametrize("out", ["/nosuch/x", "."])
def test_an_out_that_cannot_be_is_said_before_grading(tmp_path, out):
    path = write(tmp_path / "c.jsonl", [{"gold": "1", "response": "1"}])
    with pytest.raises(UserError, match=f"cannot write --out={out}"):
        main([f"--cases={path}", f"--out={out}"])


def test_expected_is_true_or_false_or_not_known(tmp_path):
    row = {"gold": "1", "response": "1"}
    path = write(tmp_path / "c.jsonl", [row, {**row, "expected": None}])
    assert all("expected" not in found for found in cases.read(path, "gold"))
    path = write(tmp_path / "c.jsonl", [row, {**row, "expected": "false"}])
    with pytest.raises(UserError, match="line 2: expected must be true or false"):
        cases.read(path, "gold")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"gold": ' + "1" * 5000 + "}"])
def test_a_line_that_json_cannot_hold_is_named(tmp_path, text):
    (tmp_path / "c.jsonl").write_text(text + "\n")
    with pytest.raises(UserError, match="line 1 is no JSON"):
        cases.read(str(tmp_path / "c.jsonl"), "gold")


def test_a_line_separator_in_a_response_parts_no_lines(tmp_path):
    row = {"gold": "1", "response": "a\u2028\x85b"}
    (tmp_path / "c.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n")
    assert cases.read(str(tmp_path / "c.jsonl"), "gold", "response") == [row]


def test_the_gold_audit_lists_damaged_rows(tmp_path):
    rows = [
        {"id": 1, "answer": "5", "solution": "so \\boxed{5.0}."},
        {"id": 2, "answer": "15^2", "solution": "so \\boxed{15\\mbox{ cm}^2}."},
        {"id": 3, "answer": "", "solution": "so \\boxed{\\mbox{four}}."},
        {"id": 4, "answer": "\\frac{\\}{p}i4"},
    ]
    done = run(f"--audit={write(tmp_path / 'g.jsonl', rows)}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {
        "rows": 4, "damaged": 3, "empty": 1, "not understood": 1, "solution": 1
    }  # fmt: skip
    assert [(r["id"], r["repaired"]) for r in lines[1:]] == [
        (2, "15\\mbox{ cm}^2"),
        (3, "\\mbox{four}"),
        (4, None),
    ]


def test_the_gold_audit_reads_the_parquet_layout_as_published(tmp_path):
    """The training reader repairs such a gold; the audit must see it unrepaired."""
    truth = [
        {"target": "15^2", "solution": "so \\boxed{15\\mbox{ cm}^2}."},
        {"target": "5", "solution": "so \\boxed{5}."},
    ]
    rows = [
        {"reward_model": {"ground_truth": t}, "extra_info": {"index": 7 + n}}
        for n, t in enumerate(truth)
    ]
    path = tmp_path / "golds.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    done = run(f"--audit=parquet:{path}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {"rows": 2, "damaged": 1, "solution": 1}
    assert [(r["id"], r["gold"]) for r in lines[1:]] == [(7, "15^2")]


@pytest.mark.parametrize(
    "args,words",
    [
        (["--casse=x"], "--casse=x"),
        ([], "--cases=FILE"),
        (["--cases=/no/such/file"], "cannot read /no/such/file"),
        (["--cases=c.jsonl", "--verifier=maths"], "'maths'"),
        (["--cases=c.jsonl", "--workers=0"], "--workers"),
        (["--cases=d.jsonl"], "line 2 lacks the field 'response'"),
        (["--audit="], "--cases and --audit take a name"),
        (["--cases="], "--cases and --audit take a name"),
        (["--cases=c.jsonl", "--verifier=builtins:int"], "must take (text, reference)"),
        (
            ["--cases=c.jsonl", '--kwargs={"strict":"x"}'],
            "verify.kwargs.strict = 'x' must be a bool",
        ),
        (["--audit=c.jsonl", "--field=target"], "row 1 lacks the field 'target'"),
    ],
)
def test_bad_input_is_named(args, words, tmp_path):
    row = {"gold": "1", "response": "1"}
    for name, rows in (("c.jsonl", [row]), ("d.jsonl", [row, {"gold": "2"}])):
        path = write(tmp_path / name, rows)
        args = [a.replace(name, path) for a in args]
    with pytest.raises(UserError, match=re.escape(words)):
        main(args)


def test_bad_input_is_one_line_and_exit_code_2():
    done = run("--cases=/no/such/file")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
