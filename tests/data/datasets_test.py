"""Data sets by name: what is read, what is refused with file and row, what is told."""

import json
import os
import subprocess
import sys
import types

import pyarrow
import pyarrow.parquet
import pytest
import tensorflow_datasets as tfds

from agrae_jax import build
from agrae_jax.data import checks, datasets, golds, prepare
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
        ({"answer": "1"}, "row 2: no field question or problem or prompt; it"),
        ({"question": " ", "answer": "1"}, "row 2: the question is empty"),
        ({"question": ["x"], "answer": "1"}, "row 2: field question is a list"),
        ({"question": "x?", "answer": True}, "row 2: field answer is a bool"),
        ('{"question": "x?"', "row 2: not JSON"),
        ('{"question": "x?", "answer": NaN}', "row 2: field answer is nan: no finite"),
        ('{"question": "x?", "gold": -Infinity}', "row 2: field gold is -inf: no fin"),
        ('{"question": "x?", "answer": 1e400}', "row 2: field answer is inf: no fin"),
        ("[1, 2]", "row 2: not a JSON object but list"),
        (
            '{"question": "x?", "answer": ' + "1" * 5000 + "}",
            "row 2: not JSON: Exceeds",
        ),
        ('{"question": ' + "[" * 200_000, "row 2: nested too deeply"),
        ('{"question": "\\ud800x", "answer": "1"}', "row 2: the question has half a"),
        ('{"question": "x", "answer": "\\udfff"}', "row 2: the answer has half a"),
    ],
)
def test_a_bad_row_is_one_line_with_file_and_row(tmp_path, row, message):
    path = _write(tmp_path, {"question": "x?", "answer": "1"}, row)
    with pytest.raises(UserError) as caught:
        datasets.load(f"jsonl:{path}", split="train")
    text = str(caught.value)
    assert f"{path} {message}" in text and "\n" not in text


def test_a_missing_file_and_bytes_that_are_no_text(tmp_path):
    with pytest.raises(UserError, match="nosuch.jsonl does not exist"):
        datasets.load(f"jsonl:{tmp_path}/nosuch.jsonl", split="train")
    assert datasets.missing_file(f"jsonl:{tmp_path}/nosuch.jsonl", "train") is not None
    assert datasets.missing_file(f"tfds:{tmp_path}/nosuch", "train") is not None
    assert datasets.missing_file(f"tfds:{tmp_path}", "train") is None
    assert datasets.missing_file("arithmetic", "train") is None
    path = tmp_path / "bytes.jsonl"
    path.write_bytes(b'{"question": "\xff"}')
    with pytest.raises(UserError, match="not UTF-8"):
        datasets.load(f"jsonl:{path}", split="train")
    path.write_text("\n\n")
    with pytest.raises(UserError, match="bytes.jsonl is empty"):
        datasets.load(f"jsonl:{path}", split="train")


def test_a_pipe_a_device_and_a_folder_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path / "link", "/dev/zero", tmp_path):
        for source in ("jsonl", "parquet"):
            with pytest.raises(UserError, match=f"{place} is not a regular file"):
                datasets.load(f"{source}:{place}", split="train")
            with pytest.raises(UserError, match=f"{place}: is not a regular file"):
                golds.raw(f"{source}:{place}")
    with pytest.raises(UserError, match="pipe is not a folder"):
        datasets.load(f"tfds:{tmp_path}/pipe", split="train")
    path = _write(tmp_path, {"question": "x?", "answer": "1"})
    (tmp_path / "good").symlink_to(path)
    assert len(datasets.load(f"jsonl:{tmp_path}/good", split="train")) == 1


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


def test_a_run_names_the_field_of_its_bad_data(tmp_path):
    place = f"jsonl:{_write(tmp_path, 'x')}"
    data = {"test": place, "test_kwargs": {}}
    with pytest.raises(UserError, match="^data.test: .*rows.jsonl row 1: not JSON"):
        build.build_problems(types.SimpleNamespace(data=data), "test")


def test_overlap_ignores_case_and_space():
    train = [Problem(0, "What is  2 + 2?", "4"), Problem(1, "b?", "1")]
    test = [Problem(0, "what is 2 + 2?\n", "4"), Problem(1, "c?", "1")]
    assert checks.overlap(train, test) == [test[0]]


def test_names_and_keywords():
    assert datasets.signature_defaults("arithmetic")["size"] == 600
    assert len(datasets.load("arithmetic", split="test", size=7)) == 7
    for name in ("arithmetc", "jsonl:", "json:x"):
        with pytest.raises(
            UserError, match="known: arithmetic, jsonl:PATH, parquet:PATH"
        ):
            datasets.load(name, split="train")
    with pytest.raises(
        UserError, match="arithmetic takes no 'sise'; known: seed, size"
    ):
        datasets.load("arithmetic", split="train", sise=3)


def test_answers_in_a_solution(tmp_path):
    path = _write(
        tmp_path,
        {
            "problem": "a?",
            "solution": "so $\\boxed{1}$, that is, $\\fbox{\\frac{1}{2}}$.",
        },
        {"question": "b?", "answer": "7 + 1,000\n#### 1,007"},
        {"question": "c?", "answer": "3", "solution": "$\\boxed{4}$"},  # its own word
    )
    problems = datasets.load(f"jsonl:{path}", split="train")
    assert [p.answer for p in problems] == ["\\frac{1}{2}", "1007", "3"]
    path = _write(tmp_path, {"problem": "a?", "solution": "no box"})
    with pytest.raises(UserError, match="row 1: no field answer or gold; it has"):
        datasets.load(f"jsonl:{path}", split="train")


def test_fields_of_other_names(tmp_path):
    path = _write(tmp_path, {"q": "1+1?", "out": {"gold": 2}, "hard": 3, "topic": "T"})
    assert datasets.load(
        f"jsonl:{path}",
        split="train",
        question="q",
        answer="out.gold",
        level="hard",
        subject="topic",
    ) == [Problem(0, "1+1?", "2", level="3", subject="T")]
    with pytest.raises(UserError, match="row 1: no field nosuch; it has q, out"):
        datasets.load(f"jsonl:{path}", split="train", question="nosuch", answer="q")


def _parquet(tmp_path, *rows):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def _verl_row(question, ground_truth, **more):
    return {
        "data_source": "x",
        "prompt": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": question},
        ],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": ground_truth},
        "extra_info": {"split": "train", "index": 5},
        **more,
    }


def test_parquet_in_the_layout_of_verl(tmp_path):
    path = _parquet(tmp_path, _verl_row("1+1?", "2", level="Level 1", type="Algebra"))
    assert datasets.load(f"parquet:{path}", split="train") == [
        Problem(0, "1+1?", "2", level="Level 1", subject="Algebra", key="5")
    ]


def test_parquet_with_a_struct_and_a_damaged_target(tmp_path, caplog):
    truth = {"question": "m?", "solution": "$\\boxed{15^\\circ}$", "target": "15"}
    path = _parquet(tmp_path, _verl_row("not this one", truth))
    with caplog.at_level("WARNING"):
        (problem,) = datasets.load(f"parquet:{path}", split="train")
    assert (problem.question, problem.answer) == ("m?", "15^\\circ")
    assert "1 golds read from the solution's box" in caplog.text
    (problem,) = datasets.load(f"parquet:{path}", split="train", repair=False)
    assert problem.answer == "15"


def test_parquet_refuses_in_one_line(tmp_path):
    path = _parquet(tmp_path, _verl_row("1+1?", {"a": "2"}))
    with pytest.raises(UserError, match=r"rows.parquet row 1: field .* is a dict"):
        datasets.load(f"parquet:{path}", split="train")
    path = _parquet(tmp_path, {"prompt": [{"role": "system", "content": "s"}]})
    with pytest.raises(UserError, match=r"row 1: field prompt has no user turn"):
        datasets.load(f"parquet:{path}", split="train")
    for kind, words in (
        (pyarrow.binary(), "row 2: not UTF"),
        (pyarrow.string(), "not"),
    ):
        raw = pyarrow.array([b"1", b"\xff"], pyarrow.binary()).view(kind)
        table = pyarrow.table({"question": ["a?", "b?"], "answer": raw})
        pyarrow.parquet.write_table(table, path)
        for read in (datasets.load, golds.raw):
            options = {"split": "train"} if read is datasets.load else {}
            with pytest.raises(UserError, match=f"rows.parquet.* {words}.* byte 0"):
                read(f"parquet:{path}", **options)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(UserError, match="not a readable parquet file"):
        datasets.load(f"parquet:{path}", split="train")
    with pytest.raises(UserError, match="nosuch does not exist"):
        datasets.load(f"parquet:{tmp_path}/nosuch", split="train")


def test_the_authors_parquet_is_repaired_to_the_published_solutions(caplog):
    folder = shared_data("agrae_parquet")
    for split, rows, damaged, unlike in (
        ("train", 7498, 7496, []),
        ("test", 5000, 4999, ["12"]),  # its problem uses \\boxed as notation
    ):
        name = f"parquet:{folder}/data/math/{split}.parquet"
        problems = datasets.load(name, split=split)
        assert len(problems) == rows
        golds = datasets.load(
            f"jsonl:{shared_data(f'math_{split}.jsonl')}", split=split
        )
        wrong = [p.answer for p in problems if p.answer != golds[p.id].answer.strip()]
        assert wrong == unlike
        assert len(datasets.load(name, split=split, repair=False)) == damaged
    raw = f"parquet:{folder}/test_data/MATH/data/test-00000-of-00001.parquet"
    assert datasets.load(raw, split="test")[0].answer == "2"


class MySums(tfds.core.GeneratorBasedBuilder):
    """A data set of somebody else's, with fields of other names."""

    VERSION = tfds.core.Version("1.0.0")
    code_path = None

    def _info(self):
        text = tfds.features.Text()
        fields = tfds.features.FeaturesDict({"ask": text, "truth": text})
        return tfds.core.DatasetInfo(builder=self, features=fields)

    def _split_generators(self, dl_manager):
        return {"learn": self._generate_examples()}

    def _generate_examples(self):
        for i in range(5):
            yield i, {"ask": f"{i} + é?", "truth": str(i)}


def test_a_tensorflow_datasets_name_with_its_fields(tmp_path):
    MySums(data_dir=str(tmp_path), file_format="array_record").download_and_prepare()
    kwargs = {"question": "ask", "answer": "truth", "data_dir": str(tmp_path)}
    problems = datasets.load(
        "tfds:my_sums", split="train", split_name="learn", **kwargs
    )
    assert {(p.question, p.answer) for p in problems} == {
        (f"{i} + é?", str(i)) for i in range(5)
    }
    with pytest.raises(
        UserError, match="no split 'train'; set split_name to one of le"
    ):
        datasets.load("tfds:my_sums", split="train", **kwargs)
    with pytest.raises(UserError, match="tfds:my_sums row 1: no field question"):
        datasets.load(
            "tfds:my_sums", split="train", split_name="learn", data_dir=str(tmp_path)
        )
    with pytest.raises(UserError, match="tfds:no_such_set: .*not found"):
        datasets.load("tfds:no_such_set", split="train", data_dir=str(tmp_path))


def test_prepare_writes_what_is_read_back_without_tensorflow(tmp_path, capsys):
    path = _write(
        tmp_path,
        {"id": "k", "question": "é?", "answer": "2", "level": "L", "subject": "S"},
        {"question": "b?", "answer": "3"},
    )
    argv = [f"--out={tmp_path}/out", f"train=jsonl:{path}", f"test=jsonl:{path}"]
    assert prepare.main(argv) == 0
    told = capsys.readouterr().out
    assert "2 test questions are in train too: é?" in told
    name = told.strip().rpartition("read it as ")[2]
    program = (
        "import sys\nfrom agrae_jax.data import datasets\n"
        f"for split in ('train', 'test'):\n"
        f"    print(datasets.load({name!r}, split=split))\n"
        "assert 'tensorflow' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    rows = [Problem(0, "é?", "2", "L", "S", "k"), Problem(1, "b?", "3", "", None, "1")]
    assert done.stdout.splitlines() == [str(rows)] * 2
    with pytest.raises(UserError, match="already there"):  # never old data again
        prepare.main(argv)
    with pytest.raises(UserError, match="cannot write /proc/x: No such file"):
        prepare.main(["--out=/proc/x", f"train=jsonl:{path}"])


@pytest.mark.parametrize("argv", [[], ["--out=x"], ["train=arithmetic"], ["--ouch=x"]])
def test_prepare_says_how_it_is_used(argv):
    with pytest.raises(UserError, match="usage: prepare --out=DIR"):
        prepare.main(argv)


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
