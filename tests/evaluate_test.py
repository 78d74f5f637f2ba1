"""The command `evaluate`: a model alone on two data sets, killed, chunked, compared."""

import collections
import itertools
import json

import pytest

from agrae_jax import evaluate, evaluate_args
from agrae_jax.errors import UserError
from agrae_jax.evaluation.progress import Progress

NAMES = ("mine", "yours")
MODEL = [
    "--model=random:llama",
    "--config.data.test_kwargs.levels=('sum_to_9',)",
    "--config.data.test_kwargs.size=6",
    "--max_new_tokens=6",
    "--config.verify.workers=1",
]


def run(out, *more, data=("arithmetic",)):
    names = [f"--dataset={name}" for name in data]
    assert evaluate.main([*MODEL, f"--out={out}", *names, *more]) == 0
    return json.loads((out / "eval/arithmetic.json").read_text())


def rows(out):
    lines = (out / "eval/arithmetic.samples.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    return run(out, "--samples=4"), out


def pass_at_k(outcomes, k):
    hits = [max(s) for s in itertools.combinations(outcomes, k)]
    return sum(hits) / len(hits)


def vote(classes):
    """What a vote among these gives the gold, class 0; a tie shares."""
    counts = collections.Counter(c for c in classes if c >= 0)
    most = max(counts.values(), default=0)
    leaders = [c for c, count in counts.items() if count == most]
    return (0 in leaders) / len(leaders) if leaders else 0.0


def vote_at_k(classes, k):
    found = [vote(s) for s in itertools.combinations(classes, k)]
    return sum(found) / len(found)


def test_the_cells_follow_from_the_samples(whole):
    """As an independent script reads them: a few lines and no code of ours."""
    result, out = whole
    assert result["problems"] == 6 and result["samples"] == 4
    found, votes = collections.defaultdict(list), collections.defaultdict(list)
    greedy, tokens, entropy = [], 0, 0.0
    for row in rows(out):
        right = row["outcome"] == "correct"
        if row["sample"] == "greedy":
            greedy.append(right)
            continue
        found[row["id"]].append(right)
        votes[row["id"]].append(row["class"])
        tokens, entropy = tokens + row["tokens"], entropy + row["entropy_sum"]
    assert len(found) == 6 and all(len(v) == 4 for v in found.values())
    for k in (1, 2, 4):
        mean = sum(pass_at_k(v, k) for v in found.values()) / 6
        assert result["pass@k"][str(k)]["mean"] == pytest.approx(mean)
        mean = sum(vote_at_k(v, k) for v in votes.values()) / 6
        assert result["maj@k"][str(k)]["mean"] == pytest.approx(mean)
    assert result["avg@n"]["mean"] == pytest.approx(sum(map(sum, found.values())) / 24)
    assert result["greedy"]["mean"] == pytest.approx(sum(greedy) / 6)
    assert result["mean_entropy"] == pytest.approx(entropy / tokens, rel=1e-5)
    assert 0 < result["mean_entropy"] < 5
    prompt = (out / "eval/arithmetic.prompt.txt").read_text()
    assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert "arithmetic" in (out / "eval/table.txt").read_text()


def test_killed_in_chunks_and_started_again_it_ends_the_same(
    whole, tmp_path, monkeypatch
):
    _, out = whole
    add, calls = Progress.add, []

    def die_after(self, wave, unit, found):
        add(self, wave, unit, found)
        calls.append(unit)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "add", die_after)
    args = ("--samples=4", "--config.eval.chunk=1")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, *args)
    assert not (tmp_path / "eval/arithmetic.json").exists()
    run(tmp_path, *args)
    assert calls == [0, 1, 2, 3, 4]  # four chunks of one sample and a greedy one
    keys = ("id", "sample", "completion", "outcome", "class")
    mine, theirs = (
        [[row[k] for k in keys] for row in rows(o)] for o in (tmp_path, out)
    )
    assert mine == theirs
    assert not list((tmp_path / "eval").glob("*.progress"))


def test_a_result_is_read_and_others_are_not_overwritten(whole, capsys):
    result, out = whole
    again = run(out, "--samples=4")
    assert again == result
    assert "is there already" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"is there with samples=4, not 2: give --name"):
        run(out, "--samples=2")


def test_two_sets_in_one_call_and_a_comparison(whole, tmp_path, capsys):
    _, other = whole
    line = {"problem": "1+1?", "answer": "2", "level": "easy", "subject": "sums"}
    sets = []
    for name in NAMES:
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
        sets.append(f"jsonl:{tmp_path}/{name}.jsonl")
    out = tmp_path / "out"
    argv = ["--model=random:llama", "--max_new_tokens=6", "--config.verify.workers=1"]
    argv += ["--samples=2", "--config.eval.greedy=False", f"--out={out}"]
    with pytest.raises(UserError, match="has no evaluation of mine"):
        evaluate.main([*argv, f"--dataset={sets[0]}", f"--compare={other}"])
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"records": [{"id": 0, "valid": 2, "correct": 3}]}')
    for place, message in (
        (damaged, "damaged.json is no evaluation .ValueError: pass@k needs"),
        (other / "eval/arithmetic.json", "1 problems, not 6, here"),
    ):
        with pytest.raises(UserError, match=message):  # before anything is sampled
            evaluate.main([*argv, f"--dataset={sets[0]}", f"--compare={place}"])
    assert not (out / "eval/mine.json").exists()
    assert evaluate.main([*argv, f"--dataset={','.join(sets)}"]) == 0
    mine, yours = (json.loads((out / f"eval/{n}.json").read_text()) for n in NAMES)
    assert mine["by_level"].keys() == {"easy"}
    assert mine["by_subject"].keys() == {"sums"}
    assert mine["records"] == yours["records"] and mine["greedy"] is None
    file = f"{other}/eval/arithmetic.json"
    run(other, "--samples=4", f"--compare={other},{file}", f"--also={file}")
    told = capsys.readouterr().out
    assert f"pairs: {other} - {other}, {file} - {file}" in told
    assert "paired over questions: sign-flip test; paired over runs, the i-th" in told
    difference = json.loads((other / "eval/arithmetic_difference.json").read_text())
    first = difference["pass@k"]["1"]
    assert (first["p_questions"], first["runs"], first["t"]) == (1.0, 2, 0.0)


@pytest.mark.parametrize(
    "argv, message",
    [
        (["--model=random:llama"], "--model needs --out"),
        (["--workdir=x", "--out=y"], "--out goes with --model"),
        (["--model=random:llama", "--out=x", "--step=3"], "not both"),
        (["--workdir=x", "--step=last"], "must be a number or best"),
        (["--workdir=x", "--protocol=a_grae"], "--protocol needs --dataset"),
        (["--workdir=x", "--samples=many"], "--samples takes a value of type int"),
        *(
            (["--workdir=x", f"--name={name}"], "must be a plain file name")
            for name in ("a/b", "..", ".", "a\\b", "x" * 200, "a b", "a\n", "-x")
        ),
        *(
            (["--workdir=x", f"--name={name}"], "none of our own")
            for name in ("a_step_3", "a_run_2", "a_difference")
        ),
        *(
            (["--workdir=x", f"--{name}="], f"--{name} is empty")
            for name in ("name", "dataset", "compare", "step", "model", "also")
        ),
        (["--workdir=x", "--dataset=,"], "--dataset is empty"),
        (["--workdir=x", "--step=\u00b2"], "must be a number or best"),
        (["--workdir=x", "--step=\u0663"], "must be a number or best"),
        (["--workdir=x", f"--step={'9' * 40}"], "must be a number or best"),
        (["--workdir=x", "--runs=1000000000"], "--runs must be from 1 to 1000"),
        (["--workdir=x", "--runs=0"], "--runs must be from 1 to 1000, not 0"),
        (["--workdir=x", "--problems"], "^--problems needs a value: --problems=..$"),
        (["--workdir=x", "--problems=-1"], "--problems must be >= 0, not -1"),
        (["--workdir=x", "--also=a"], "--also goes with --compare"),
        (["--workdir=x", "--compare=a,b,a"], "--compare names a run twice: a, b, a"),
        (
            ["--workdir=x", "--compare=a,b,c", "--also=d"],
            "--compare names 3 runs and there are 2 on this side",
        ),
        (
            ["--model=random:llama", "--out=x", "--compare=y,z", "--also=x"],
            "--also=x is what is evaluated",
        ),
        (
            ["--model=random:llama", "--out=x", "--dataset=gsm8k", "--protocol=a_grae"],
            "a_grae has no protocol for gsm8k",
        ),
        (
            ["--model=random:llama", "--out=x", "--dataset=arithmetic,arithmetic"],
            "two data sets would write arithmetic.json",
        ),
    ],
)
def test_a_wrong_command_is_one_line(argv, message):
    with pytest.raises(UserError, match=message) as info:
        evaluate_args.parse(argv)
    assert "\n" not in str(info.value)


def test_data_sets_of_one_file_name_are_told_apart_by_their_folders(tmp_path):
    names = []
    for folder in ("math", "aime2025"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test.jsonl").write_text("{}")
        names.append(f"jsonl:{tmp_path}/{folder}/test.jsonl")
    argv = ["--model=random:llama", "--out=x"]
    request = evaluate_args.parse([*argv, f"--dataset={','.join(names)}"])
    assert list(request.configs) == ["math_test", "aime2025_test"]
    assert list(evaluate_args.parse([*argv, f"--dataset={names[0]}"]).configs) == [
        "test"
    ]


def test_a_protocol_sets_the_profile_and_flags_go_before_it(tmp_path, monkeypatch):
    for name in ("aime2025.jsonl", "amc23.jsonl"):
        (tmp_path / name).write_text('{"problem": "1+1?", "answer": "2"}\n')
    argv = ["--model=random:llama", "--out=x", "--dataset=aime25,amc23"]
    argv += ["--protocol=a_grae", f"--folder={tmp_path}", "--max_new_tokens=9"]
    request = evaluate_args.parse(argv)
    assert list(request.configs) == ["aime25", "amc23"]
    c = request.configs["amc23"].eval
    assert (c.temperature, c.top_p, c.samples, c.max_new_tokens) == (0.6, 0.95, 256, 9)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
