import json
import os
import signal
import subprocess
import sys

import pytest

from agrae_jax import claiming, run_directory
from agrae_jax.errors import UserError

CONFIG = {
    "seed": 0,
    "steps": 10,
    "rollout": {"prompts": 8, "samples": 4},
    "optim": {"schedule": "constant"},
    "mesh": {"fsdp": -1},
    "log": {"rollouts_every": 1},
    "data": {"examples": (("a", "b"),)},
}


def _claim(path, config=CONFIG):
    run = claiming.claim(path, config)
    run.release()
    return run


def test_a_new_directory_gets_the_layout(tmp_path):
    run = _claim(tmp_path / "deep" / "run")
    names = sorted(p.name for p in run.path.iterdir())
    assert names == [
        ".lock",
        "checkpoints",
        "config.json",
        "eval",
        "rollouts",
        "versions.json",
    ]
    # Tuples are lists in JSON: the comparison must not trip over that.
    assert run.config() == {**CONFIG, "data": {"examples": [["a", "b"]]}}
    found = json.loads((run.path / "versions.json").read_text())
    assert found["python"].startswith("3.") and found["packages"]["jax"]
    assert len(found["code"]) == 16
    assert run.notes == []


def test_an_interrupted_run_is_resumed(tmp_path):
    _claim(tmp_path)
    run = claiming.claim(tmp_path, CONFIG)
    assert run.notes == [] and not run.finished()
    run.mark(step=4, finished=False)
    run.release()
    assert _claim(tmp_path).status() == {"finished": False, "step": 4}


def test_a_finished_run_is_refused_with_both_ways_out(tmp_path):
    _claim(tmp_path).mark(step=10, finished=True)
    with pytest.raises(UserError) as info:
        claiming.claim(tmp_path, CONFIG)
    text = str(info.value)
    assert str(tmp_path) in text and "finished (10 steps)" in text
    assert "new --workdir" in text and "larger --config.steps" in text
    assert "\n" not in text


def test_a_finished_run_goes_on_with_more_steps(tmp_path):
    _claim(tmp_path).mark(step=10, finished=True)
    run = _claim(tmp_path, {**CONFIG, "steps": 20})
    assert run.notes == ["steps: 10 -> 20"]
    assert run.status() == {"finished": False, "step": 10}
    assert run.config()["steps"] == 20


def test_more_steps_under_a_planned_schedule_are_refused(tmp_path):
    config = {**CONFIG, "optim": {"schedule": "cosine"}}
    _claim(tmp_path, config)
    with pytest.raises(UserError, match="steps=10, not 20 under a cosine schedule"):
        claiming.claim(tmp_path, {**config, "steps": 20})


def test_fewer_steps_are_refused(tmp_path):
    _claim(tmp_path)
    with pytest.raises(UserError, match="started with steps=10, not 5"):
        claiming.claim(tmp_path, {**CONFIG, "steps": 5})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seed": 1}, r"started with seed=0, not 1: resume with --config\.seed=0"),
        (
            {"rollout": {"prompts": 8, "samples": 8}},
            r"rollout\.samples=4, not 8: resume with --config\.rollout\.samples=4",
        ),
        ({"rollout": {"prompts": 8}}, r"rollout\.samples=4, not None"),
    ],
)
def test_another_config_is_refused_and_the_field_named(tmp_path, change, message):
    _claim(tmp_path)
    with pytest.raises(UserError, match=message):
        claiming.claim(tmp_path, {**CONFIG, **change})
    # The refusal changed nothing and holds no lock.
    assert _claim(tmp_path).config()["seed"] == 0


def test_fields_that_decide_only_where_and_how_fast_may_change(tmp_path):
    _claim(tmp_path)
    run = _claim(tmp_path, {**CONFIG, "mesh": {"fsdp": 4}})
    assert run.notes == ["mesh.fsdp: -1 -> 4"]
    assert run.config()["mesh"] == {"fsdp": 4}


def test_a_field_that_a_newer_version_brought_is_noted(tmp_path):
    _claim(tmp_path)
    run = _claim(tmp_path, {**CONFIG, "newer": {"field": 0}})
    assert "newer.field: None -> 0" in run.notes


def test_what_to_do_with_nan_may_change(tmp_path):
    config = {**CONFIG, "updates": {"on_nan": "stop"}}
    _claim(tmp_path, config)
    assert _claim(tmp_path, {**CONFIG, "updates": {"on_nan": "skip"}}).notes


def test_a_folder_among_the_rollouts_is_left_alone(tmp_path):
    run = _claim(tmp_path)
    (run.rollouts / "step_000009.jsonl").mkdir()
    run.cut_back(1)
    assert (run.rollouts / "step_000009.jsonl").is_dir()


def test_rollouts_with_any_character_come_back(tmp_path):
    from agrae_jax.replay import _rows

    run = _claim(tmp_path)
    run.write_rollouts(1, [{"completion": "a\u2028b\x85c"}, {"completion": "\ud800"}])
    rows = _rows(run, 1)
    assert rows is not None and rows[0] == {"completion": "a\u2028b\x85c"}


def test_a_changed_version_is_noted(tmp_path):
    _claim(tmp_path)
    path = tmp_path / "versions.json"
    found = json.loads(path.read_text())
    found["packages"]["jax"] = "0.1"
    path.write_text(json.dumps(found))
    (note,) = _claim(tmp_path).notes
    assert note.startswith("jax 0.1 -> ") and note.endswith(" since the last launch")
    found["code"] = "0123456789abcdef"
    found["packages"] = json.loads(path.read_text())["packages"]
    path.write_text(json.dumps(found))
    (note,) = _claim(tmp_path).notes
    assert note.startswith("agrae_jax's own code has changed since the last launch")


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("status.json", "[]", r"status\.json is damaged: it does not hold a JSON obj"),
        ("status.json", '{"finished": "yes"}', r"status\.json is damaged: it must be"),
        ("status.json", '{"finished": true}', r"status\.json is damaged: it must be"),
        ("status.json", '{"fini', r"cannot read .*status\.json"),
        (
            "status.json",
            '{"finished": false, "step": 1000000000}',
            r"status\.json is damaged: it says saved step 1000000000, of a run of 10",
        ),
        (
            "status.json",
            '{"finished": true, "step": 9}',
            "it says finished at step 9, of a run of 10 steps .*; remove it",
        ),
        ("status.json", '{"finished": false, "step": -1}', "saved step -1"),
        ("config.json", "3", r"config\.json is damaged"),
        ("config.json", '{"seed": {"a": 1}}', r"was started with "),
    ],
)
def test_damaged_json_is_one_line(tmp_path, name, text, message):
    _claim(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        claiming.claim(tmp_path, CONFIG)


def test_damaged_versions_only_inform(tmp_path):
    _claim(tmp_path)
    (tmp_path / "versions.json").write_text("[]")
    (note,) = _claim(tmp_path).notes
    assert "versions.json is damaged" in note and note.endswith("written anew")


def test_a_stray_file_among_the_rollouts_is_left_alone(tmp_path):
    run = _claim(tmp_path)
    for name in ("step_notes.jsonl", "step_000002.jsonl", "notes.txt"):
        (run.rollouts / name).write_text("")
    run.cut_back(1)
    assert sorted(p.name for p in run.rollouts.iterdir()) == [
        "notes.txt",
        "step_notes.jsonl",
    ]


def test_a_foreign_directory_is_refused_and_untouched(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not empty and holds no run .*thesis.tex"):
        claiming.claim(tmp_path, CONFIG)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_kill_before_the_config_was_written_leaves_a_free_directory(tmp_path):
    (tmp_path / ".lock").write_text("123")
    (tmp_path / "config.json.tmp").write_text("{")
    assert _claim(tmp_path).config()["seed"] == 0


def test_a_file_as_workdir_is_refused(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(UserError, match="f is a file: give a directory"):
        claiming.claim(tmp_path / "f", CONFIG)


HOLD = """
import json, sys
from agrae_jax import claiming
run = claiming.claim(sys.argv[1], json.loads(sys.argv[2]))
print("claimed", flush=True)
sys.stdin.read()
"""


def test_a_directory_in_use_is_refused_until_its_process_is_killed(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), json.dumps(CONFIG)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "claimed\n"
        with pytest.raises(UserError, match=rf"in use .*\(pid {holder.pid}\)"):
            claiming.claim(tmp_path, CONFIG)
        run_directory.open_run(tmp_path).config()  # reading stays possible
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    _claim(tmp_path)


def test_a_child_process_does_not_keep_the_lock(tmp_path):
    # Graders outlive a killed trainer for a moment; the lock must not.
    run = claiming.claim(tmp_path, CONFIG)
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    run.release()
    _claim(tmp_path)
    child.communicate()


def test_an_unwritable_place_is_one_line():
    with pytest.raises(UserError, match="cannot write to /proc/run.*--workdir"):
        claiming.claim("/proc/run", CONFIG)


def test_rollouts_are_whole_and_cut_back_with_the_metrics(tmp_path):
    run = claiming.claim(tmp_path, CONFIG)
    run.metrics.write_text("".join(f'{{"step": {s}}}\n' for s in (1, 2, 3)))
    for step in (1, 2, 3):
        run.write_rollouts(step, [{"prompt": "π?", "reward": 1.0}, {"prompt": "b"}])
    assert run.rollout_path(2).name == "step_000002.jsonl"
    assert run.rollout_path(2).read_text() == (
        '{"prompt": "π?", "reward": 1.0}\n{"prompt": "b"}\n'
    )
    (run.rollouts / "step_000004.jsonl.tmp").write_text("torn")
    run.cut_back(2)
    assert sorted(p.name for p in run.rollouts.iterdir()) == [
        "step_000001.jsonl",
        "step_000002.jsonl",
    ]
    assert [line["step"] for line in run.read_metrics()] == [1, 2]
    run.cut_back(0)
    assert list(run.rollouts.iterdir()) == [] and run.read_metrics() == []
    run.release()


def test_a_row_that_fails_leaves_no_rollout_file(tmp_path):
    run = claiming.claim(tmp_path, CONFIG)
    with pytest.raises(TypeError):
        run.write_rollouts(1, [{"ok": 1}, {"bad": object()}])
    assert not run.rollout_path(1).exists()
    run.release()


def test_evaluations_and_the_summary(tmp_path):
    run = claiming.claim(tmp_path, CONFIG)
    path = run.write_evaluation("before", {"pass@1": 0.5})
    assert path == tmp_path / "eval" / "before.json"
    assert json.loads(path.read_text()) == {"pass@1": 0.5}
    run.write_summary("a table\n")
    assert (tmp_path / "summary.txt").read_text() == "a table\n"
    run.release()


def test_open_run_of_no_run(tmp_path):
    with pytest.raises(UserError, match="is not a run directory"):
        run_directory.open_run(tmp_path)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
