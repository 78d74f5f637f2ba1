"""The grader of a run: what it keeps, what a resumed run repeats, what it counts."""

import dataclasses
import json
import re
import types

import jax
import numpy as np
import pytest

from agrae_jax import build
from agrae_jax import config as config_door
from agrae_jax import grader as grading_of_runs
from agrae_jax.errors import UserError
from agrae_jax.grader import Grader, latency
from agrae_jax.grading import ahead, grade_rows, remembering
from agrae_jax.run_directory import RunDirectory
from agrae_jax.types import Graded, PromptBatch, Rollout
from agrae_jax.verify.types import Verdict
from tests.rl.contexts import reward_input

HANG = "tests.verify.doubles:hang"


def config(**changes):
    values = {
        "workers": 1,
        "deadline_s": 5.0,
        "verifier": "math",
        "kwargs": {},
        "audit": 0.0,
    }
    return types.SimpleNamespace(verify=types.SimpleNamespace(**values | changes))


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def test_a_deadline_hit_is_on_disk_and_a_resumed_run_repeats_it(run):
    with Grader(config(verifier=HANG, deadline_s=0.3), run) as grader:
        got = grader.grade([("a", "a"), ("hang", "a")])
    assert [v.outcome for v in got] == ["correct", "ungradable"]
    path = run.path / "verify" / "deadlines.jsonl"
    assert [(r["gold"], r["text"], r["rule"]) for r in rows(path)] == [
        ("a", "hang", "deadline")
    ]
    with path.open("a") as file:
        file.write('{"gold": "torn')  # killed while it was written
    for deadline_s in (0.3, 0.2):
        resumed = config(verifier=HANG, deadline_s=deadline_s)
        with Grader(resumed, run) as grader:
            assert grader.grade([("hang", "a")])[0].rule == "deadline"
            assert "workers_started" not in grader.pool.stats()
    assert len(rows(path)) == 1  # nothing was added, and the torn line is gone


def test_a_longer_deadline_or_another_verifier_grades_anew(run):
    (run.path / "verify").mkdir()
    hit = {
        "gold": "a",
        "text": "a",
        "rule": "deadline",
        "reason": "",
        "deadline_s": 5.0,
    }
    line = json.dumps(hit | {"verifier": f"{HANG} {{}}"}) + "\n"
    (run.path / "verify" / "deadlines.jsonl").write_text(line)
    for changes, outcome in (
        ({}, "ungradable"),
        ({"deadline_s": 6.0}, "correct"),
        ({"verifier": "gsm8k"}, "wrong"),
    ):
        with Grader(config(**{"verifier": HANG} | changes), run) as grader:
            assert grader.grade([("a", "a")])[0].outcome == outcome


def test_evaluation_beside_a_run_writes_nothing(run):
    one = config(verifier=HANG, deadline_s=0.3, audit=0.0)
    with Grader(one, run, record=False) as grader:
        assert grader.grade([("hang", "a")])[0].rule == "deadline"
    assert not (run.path / "verify").exists()


TEXTS = {1: "\\boxed{3}", 2: "\\boxed{x+x}", 3: "so \\boxed{\\frac{1}{3}}"}


def rollout():
    """Two prompts, two completions of one token each."""
    zeros = np.zeros((2, 2, 1), np.float32)
    prompts = PromptBatch(
        np.ones((2, 1), np.int32),
        np.ones(2, np.int32),
        np.arange(2, dtype=np.int32),
        np.array([10, 11], np.int32),
    )
    completion = np.array([[[1], [2]], [[3], [1]]], np.int32)
    length = np.ones((2, 2), np.int32)
    return Rollout(prompts, completion, length, length, zeros, zeros)


def seen_of(verdicts):
    return types.SimpleNamespace(rollout=rollout(), verdicts=verdicts)


def decode(tokens):
    return TEXTS[tokens[0]]


def batch():
    problem = types.SimpleNamespace
    return types.SimpleNamespace(
        problems=(problem(id=10, answer="2x"), problem(id=11, answer="\\nosuch"))
    )


def test_a_step_leaves_its_ungradable_completions_and_its_audit(run, monkeypatch):
    arrays = rollout()
    monkeypatch.setattr(grading_of_runs, "local_rows", np.asarray)
    with Grader(config(audit=1.0, deadline_s=20), run) as grader:
        graded, verdicts = grade_rows(
            arrays.completion_BGT,
            arrays.length_BG,
            ["2x", "\\nosuch"],
            decode=decode,
            grade=grader.grade_rollout,
        )
        values = grader.end_step(4, batch(), seen_of(verdicts), decode, 2.0)
    assert isinstance(graded, Graded)
    np.testing.assert_array_equal(graded.correct_BG, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(graded.valid_BG, [[1, 1], [0, 0]])
    lost = rows(run.path / "verify" / "ungradable.jsonl")
    assert [(r["step"], r["id"], r["sample"], r["rule"]) for r in lost] == [
        (4, 11, 0, "gold"),
        (4, 11, 1, "gold"),
    ]
    assert lost[0]["completion"] == "so \\boxed{\\frac{1}{3}}"
    assert "nosuch" in lost[0]["reason"]
    assert values["deadline_hits"] == 0 and values["time/verify_items_per_s"] == 2.0
    assert (values["audit_compared"], values["audit_disagreed"]) == (2, 0)
    assert not (run.path / "verify" / "audit.jsonl").exists()


def test_tail_latency_and_throughput():
    assert latency([float(n) for n in range(1, 101)], 4.0) == {
        "time/verify_items_per_s": 25.0,
        "time/verify_p50_ms": 51.0,
        "time/verify_p99_ms": 100.0,
        "time/verify_max_ms": 100.0,
    }


def test_the_format_counts_where_the_verifier_asks_for_one():
    answers = iter(
        [
            Verdict("wrong", None, None, "", "", 0.0),
            Verdict("wrong", "5", (0, 1), "", "", 0.0),
            Verdict("wrong", "5", (0, 1), "", "", 0.0, format_ok=False),
            Verdict("correct", None, None, "", "", 0.0, format_ok=True),
        ]
    )
    arrays = rollout()
    graded, _ = grade_rows(
        arrays.completion_BGT,
        arrays.length_BG,
        ["", ""],
        decode=decode,
        grade=lambda items: [next(answers) for _ in items],
    )
    np.testing.assert_array_equal(graded.format_ok_BG, [[0, 1], [0, 1]])


def test_a_wave_is_graded_ahead_once(run):
    arrays = rollout()
    arrays.length_BG.flags.writeable = False
    calls = []

    def counted(tokens):
        calls.append(tokens)
        return decode(tokens)

    remembered = remembering(counted, 4)
    with Grader(config(), run) as grader:
        wave = jax.tree.map(jax.numpy.asarray, arrays)
        ahead(
            wave,
            answers={10: "2x", 11: "x"},
            decode=remembered,
            submit=grader.submit,
        )
        _, verdicts = grade_rows(
            arrays.completion_BGT,
            arrays.length_BG,
            ["2x", "x"],
            decode=remembered,
            grade=grader.grade,
        )
        stats = grader.pool.stats()
    assert [[v.outcome for v in row] for row in verdicts] == [
        ["wrong", "correct"],
        ["wrong", "wrong"],
    ]
    assert len(calls) == 3  # three different completions, each decoded once
    assert stats["cached"] == 4  # every pair had been sent already


def parsed(*overrides):
    argv = ["--config=configs/smoke.py", *(f"--config.verify.{o}" for o in overrides)]
    return config_door.parse(argv).config


def test_a_config_names_the_verifier_its_keywords_and_the_weight_of_the_format():
    assert parsed("kwargs.rounding=3").verify.kwargs.to_dict() == {
        "strict": True,
        "rounding": 3,
    }
    path = "tests.verify.verifiers_test:length_is"
    assert parsed(f"verifier={path}", "kwargs.plus=2").verify.kwargs.plus == 2
    one = parsed("verifier=geo3k", "format_weight=0.1")
    inputs = reward_input([[1, 0, 1, 0]])
    inputs = dataclasses.replace(
        inputs, format_ok_BG=jax.numpy.array([[1.0, 1.0, 0.0, 0.0]])
    )
    reward_BG = build.build_method(one).reward(inputs)
    np.testing.assert_allclose(reward_BG, [[1.0, 0.1, 0.9, 0.0]], atol=1e-6)


@pytest.mark.parametrize(
    "overrides,words",
    [
        (["verifier=maths"], "maths"),
        (["verifier=no.such:thing"], "no.such:thing cannot be loaded"),
        (["kwargs.tolerance=1"], "tolerance"),
        (["verifier=choice", "audit=0.1"], "verify.audit"),
        (["audit=2"], "verify.audit"),
        (["format_weight=-1"], "verify.format_weight"),
    ],
)
def test_a_verifier_that_cannot_work_is_refused_before_anything_is_loaded(
    overrides, words
):
    with pytest.raises(UserError, match=re.escape(words)):
        parsed(*overrides)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
