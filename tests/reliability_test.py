"""Faults that a run must survive or refuse clearly; docs/reliability.md lists them.

A test bears the name of its fault. Others lie beside what they test: see the page.
"""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from agrae_jax import build, config, methods, replay, set_evaluator, step, train
from agrae_jax.build_model import Model
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.errors import DATA, DIVERGED, MEMORY, UserError
from agrae_jax.feed import Feed, take_step
from agrae_jax.metrics import JsonlWriter, read_jsonl
from agrae_jax.run_directory import RunDirectory
from agrae_jax.verify.pool import Pool
from tests.step_test import fixed_rollout, gradient_of, world

ROOT = Path(__file__).resolve().parent.parent


def run(workdir, *overrides):
    """Trains in this process: two steps of the smoke config, without evaluations."""
    parsed = config.parse(
        [
            f"--config={ROOT}/configs/smoke.py",
            f"--workdir={workdir}",
            "--config.mesh.fsdp=1",
            "--config.steps=2",
            "--config.eval.before=False",
            "--config.eval.after=False",
            *overrides,
        ]
    )
    train.train(parsed.config, parsed.workdir)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A data file, since a built-in generator cannot be edited or lost."""
    path = tmp_path_factory.mktemp("data") / "rows.jsonl"
    hostile = {"level": "../../stray", "subject": "/stray"}
    lines = [
        {"id": f"../../stray{n}", "question": f"{n}+1?", "answer": str(n + 1)} | hostile
        for n in range(8)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, rows):
    workdir = tmp_path_factory.mktemp("runs") / "run"
    run(workdir, f"--config.data.train=jsonl:{rows}")
    return workdir


@pytest.fixture
def two_steps(finished, tmp_path):
    """A copy of the finished run, to harm."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def go_on(workdir, rows):
    run(workdir, f"--config.data.train=jsonl:{rows}", "--config.steps=3")


def test_checkpoints_deleted_by_hand_are_no_new_start(two_steps, rows):
    shutil.rmtree(two_steps / "checkpoints")
    before = (two_steps / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match="no whole checkpoint, but step 2 was saved"):
        go_on(two_steps, rows)
    assert (two_steps / "metrics.jsonl").read_bytes() == before


def test_every_checkpoint_broken_is_no_new_start(two_steps, rows, capsys):
    for path in two_steps.glob("checkpoints/*/checksums.json"):
        path.unlink()
    with pytest.raises(UserError, match="no whole checkpoint, but step 2 was saved"):
        go_on(two_steps, rows)
    assert "falling back" in capsys.readouterr().out
    assert len(read_jsonl(two_steps / "metrics.jsonl")) == 2


def test_no_text_of_a_row_becomes_a_path(finished, rows):
    text = (finished / "rollouts" / "step_000001.jsonl").read_text()
    assert '"level": "../../stray"' in text
    assert [p.name for p in finished.parent.iterdir()] == ["run"]
    names = [p.name for p in [*finished.rglob("*"), *rows.parent.parent.rglob("*")]]
    assert len(names) > 20 and not [name for name in names if "stray" in name]


def test_a_status_beyond_the_newest_checkpoint_is_mended(two_steps, rows, capsys):
    shutil.rmtree(two_steps / "checkpoints" / "2")
    go_on(two_steps, rows)
    out = capsys.readouterr().out
    assert "the checkpoint of step 2 is gone: going on from step 1" in out
    assert RunDirectory(two_steps).status() == {"finished": True, "step": 3}
    lines = read_jsonl(two_steps / "metrics.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3]


def test_a_checkpoint_beyond_the_run_is_refused(two_steps, rows, monkeypatch):
    monkeypatch.setattr(RunDirectory, "config", lambda self: {"steps": 1})
    monkeypatch.setattr(train, "claim_run", lambda path, _: RunDirectory(Path(path)))
    with pytest.raises(UserError, match="checkpoints/2 is beyond the 1 steps"):
        go_on(two_steps, rows)


def test_metrics_and_rollouts_deleted_by_hand_are_said(two_steps, rows, capsys):
    path = two_steps / "metrics.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[1])
    (two_steps / "rollouts" / "step_000002.jsonl").unlink()
    go_on(two_steps, rows)
    out = capsys.readouterr().out
    assert "metrics.jsonl lacks steps 1 of the 2 steps done" in out
    assert "rollouts lacks steps 2 (deleted, or not kept then)" in out
    assert [line["step"] for line in read_jsonl(path)] == [2, 3]


def test_a_data_set_that_changed_is_refused(two_steps, rows, tmp_path):
    changed = tmp_path / "rows.jsonl"
    changed.write_text(rows.read_text().replace('"8"', '"10"'))
    text = (two_steps / "config.json").read_text()
    (two_steps / "config.json").write_text(text.replace(str(rows), str(changed)))
    with pytest.raises(UserError, match="data.train has other questions") as caught:
        go_on(two_steps, changed)
    assert caught.value.exit_code == DATA


def test_a_data_set_that_vanished_is_refused(two_steps, rows, tmp_path):
    with pytest.raises(UserError, match="gone.jsonl does not exist"):
        go_on(two_steps, tmp_path / "gone.jsonl")


def test_a_data_set_with_a_bad_row_is_a_data_error(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"question": "1+1?"}\n')
    with pytest.raises(UserError, match="bad.jsonl row 1") as caught:
        run(tmp_path / "run", f"--config.data.train=jsonl:{tmp_path / 'bad.jsonl'}")
    assert caught.value.exit_code == DATA


def test_a_loss_that_is_not_a_number_stops_and_keeps_its_batch(tmp_path):
    with pytest.raises(UserError, match="step 1: .* the run diverged") as caught:
        run(tmp_path / "run", "--config.optim.learning_rate=1e30")
    assert caught.value.exit_code == DIVERGED
    run_ = RunDirectory(tmp_path / "run")
    assert [line["step"] for line in run_.read_metrics()] == [1]
    assert Checkpoints(run_.checkpoints, keep=None).steps() == []
    with np.load(run_.path / "faults" / "step_000001.npz") as batch:
        assert batch["completion_BGT"].shape == (4, 8, 16)
        assert {"tokens_BL", "draw_B", "correct_BG", "advantage_BG"} <= set(batch)
    assert run_.rollout_path(1).exists()


def test_an_update_that_is_not_a_number_can_be_skipped():
    def stepped(weights, *overrides):
        """State before, and (state after, metrics) of updates with scaled weights."""
        _, mesh, model, _, _, _, state, fns = world(
            "--config.updates.mini_batches=1", *overrides
        )
        rollout, graded = fixed_rollout(b=4, vocab=model.policy.vocab_size)
        found = []
        with jax.set_mesh(mesh):
            prepared = fns.prepare(state, None, rollout, graded, step.Beside())
            batch = prepared.batches[0]
            for weight in weights:
                weighted = dataclasses.replace(
                    batch, weight_BGT=batch.weight_BGT * np.float32(weight)
                )
                kept = jax.tree.map(lambda x: x.copy(), state)  # update donates it
                after, metrics = fns.update(kept, weighted)
                found.append((jax.device_get((after.params, after.opt_state)), metrics))
        return jax.device_get((state.params, state.opt_state)), *found

    def equal(a, b):
        pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
        return all(np.array_equal(x, y) for x, y in pairs)

    before, (ill, told), (well, silent) = stepped(
        [np.nan, 1.0], "--config.updates.on_nan=skip"
    )
    assert equal(before, ill) and float(told["skipped_updates"][0]) == 1
    assert not equal(before, well) and float(silent["skipped_updates"][0]) == 0
    _, (as_ever, plain) = stepped([1.0])
    assert equal(well, as_ever) and "skipped_updates" not in plain


def test_a_full_disk_is_one_line(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    writer = JsonlWriter(tmp_path / "metrics.jsonl")
    with pytest.raises(UserError, match="cannot write .*metrics.jsonl: No space left"):
        writer.write(1, {"loss": 0.5})


def test_out_of_memory_names_the_buffers_and_the_knob(tmp_path, monkeypatch, capsys):
    def exhausted(*_, on_phase, **__):
        on_phase("learn")
        raise jax.errors.JaxRuntimeError(
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."
        )

    monkeypatch.setattr(train, "take_step", exhausted)
    with pytest.raises(UserError) as caught:
        run(tmp_path / "run", "--config.rollout.prompts=8")
    told = str(caught.value)
    assert caught.value.exit_code == MEMORY and "\n" not in told
    assert told.startswith("out of memory in the update; the biggest buffers")
    assert "activations 0.0" in told and "Turn updates.micro_batches" in told
    # The estimate is said before the first step, whatever happens then.
    assert "memory, a device: about 0.0" in capsys.readouterr().out


def test_out_of_memory_while_the_model_is_built_is_one_line(tmp_path):
    """A real one: no machine gives arrays of 7 TiB."""
    sizes = ("hidden_size=1000000", "intermediate_size=1000000")
    with pytest.raises(UserError) as caught:
        run(tmp_path / "run", *(f"--config.model.kwargs.{size}" for size in sizes))
    told = str(caught.value)
    assert caught.value.exit_code == MEMORY
    assert "building or restoring the model; the biggest buffers" in told
    biggest = re.search(r"optimizer ([\d.]+), parameters ([\d.]+). Turn mesh", told)
    assert biggest is not None, told
    optimizer, parameters = map(float, biggest.groups())
    # 6e12 numbers a layer: 3 of the MLP, 3 of attention with half the key heads.
    assert parameters == pytest.approx(2 * 6e12 * 4 / 2**30, rel=1e-4)
    assert optimizer == pytest.approx(2 * parameters, rel=1e-4)


def test_out_of_memory_while_a_checkpoint_is_restored_is_one_line(
    two_steps, rows, monkeypatch
):
    def exhausted(*_, **__):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")

    monkeypatch.setattr(Checkpoints, "restore", exhausted)
    with pytest.raises(UserError, match="restoring the model; .* same command") as told:
        go_on(two_steps, rows)
    assert told.value.exit_code == MEMORY
    assert sorted(p.name for p in (two_steps / "checkpoints").iterdir()) == ["1", "2"]


def test_another_error_of_the_device_stays_what_it_is(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise jax.errors.JaxRuntimeError("INTERNAL: something else")

    monkeypatch.setattr(train, "take_step", broken)
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"):
        run(tmp_path / "run")


def test_a_wrong_tokenizer_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from configs import smoke\ndef get_config():\n    c = smoke.get_config()\n"
        "    c.model.kwargs.vocab_size = 64\n    return c\n"
    )
    c = config.parse([f"--config={tmp_path}/mine.py", "--config.mesh.fsdp=1"]).config
    with pytest.raises(UserError, match="112 tokens, the model 64: they do not belong"):
        build.build_model(c, build.build_mesh(c))


def test_an_end_token_that_is_the_padding_token_counts_as_an_end():
    """Masks come from lengths: padding is never mistaken for an end, or for text."""
    c, mesh, model, *_ = world()
    shared = model.tokenizer.pad_id
    same = dataclasses.replace(model.tokenizer, eos_ids=frozenset([shared]))
    model = dataclasses.replace(model, tokenizer=same)
    assert isinstance(model, Model) and shared == 0
    spec = dataclasses.replace(build.train_spec(c, same), max_new_tokens=64)
    rollout, _ = fixed_rollout(b=4, vocab=model.policy.vocab_size)
    with jax.set_mesh(mesh):
        seen = build.build_sampler(model, spec, seed=3, wave=0)(
            model.params, rollout.prompts
        )
    length, tokens = np.asarray(seen.length_BG), np.asarray(seen.completion_BGT)
    ended = np.asarray(seen.stop_BG) == 1
    assert 0 < ended.sum() < ended.size
    for at in np.ndindex(*length.shape):
        text = tokens[at][: length[at]]
        assert (text[-1] == shared) == ended[at] and shared not in text[:-1]
        assert not tokens[at][length[at] :].any()


def test_empty_completions_are_graded_and_trained_on():
    rollout, graded = fixed_rollout()
    empty = dataclasses.replace(rollout, length_BG=np.ones_like(rollout.length_BG))
    loss, gradient, values = gradient_of(1, 1, data=(empty, graded))
    assert np.isfinite(loss) and np.isfinite(values["grad_norm"])
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(gradient))
    with Pool(workers=1) as pool:
        (verdict,) = pool.grade([("", "3")])
    assert (verdict.outcome, verdict.answer) == ("wrong", None)


def test_a_damaged_evaluation_is_made_again(tmp_path):
    path, said = tmp_path / "eval" / "x.json", []
    path.parent.mkdir()
    for text in ('{"records": ', "[]", '{"records": [{"id": 1}], "pass@k": {}}'):
        path.write_text(text)
        assert (
            set_evaluator.read_result(RunDirectory(tmp_path), "x", said.append) is None
        )
        assert "x.json is damaged" in said.pop()
    assert set_evaluator.read_result(RunDirectory(tmp_path), "no", said.append) is None
    assert said == []


def test_replay_shows_that_a_step_is_reproduced_or_is_not(two_steps, capsys):
    flags = [f"--workdir={two_steps}", "--config.mesh.fsdp=1"]
    assert replay.main([*flags, "--step=2"]) == 0
    out = capsys.readouterr().out
    assert "Replaying step 2" in out and "from checkpoint 1" in out
    assert "step 2 is reproduced" in out and "32 completions, 0 differences" in out

    lines = read_jsonl(two_steps / "metrics.jsonl")
    lines[1]["loss"] += 1e-9
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (two_steps / "metrics.jsonl").write_text(text)
    assert replay.main([*flags, "--step=2"]) == 1
    assert "step 2 differs in 1 places" in capsys.readouterr().out
    with pytest.raises(UserError, match="--step=7 was not logged by .*; it has 1 to 2"):
        replay.main([*flags, "--step=7"])


_REFILLED = ("dapo", ("--config.method.kwargs.dynamic_sampling=True",))
_STATEFUL = [
    # One of each kind of state in `make test`, all of them in `make test-all`.
    pytest.param(name, (), marks=() if name == "sec" else pytest.mark.slow)
    for name in methods.names()
    if jax.tree.leaves(methods.resolve(name).init_state())
] + [_REFILLED]
_LEVELS = '--config.data.train_kwargs.levels=("sum_to_9","product_1_1")'


@pytest.mark.parametrize(("name", "overrides"), _STATEFUL)
def test_a_method_with_state_resumes_bit_for_bit(tmp_path, name, overrides):
    c, mesh, _, method, _, stream, state, fns = world(
        f"--config.method.name={name}", _LEVELS, *overrides
    )
    assert jax.tree.leaves(state.method_state), "this method keeps no state"
    target = build.abstract(state)

    def two(feed, state, first):
        seen = []
        for number in (first, first + 1):
            state, metrics, *_ = take_step(
                feed, state, number, fns=fns, ref_params=None
            )
            seen.append(jax.device_get(metrics))
        return state, seen

    with jax.set_mesh(mesh), Checkpoints(tmp_path, keep=1) as checkpoints:
        state, _ = two(Feed(stream, method), state, 0)
        checkpoints.save(2, state, {})
        live, logged = two(Feed(stream, method), state, 2)
        checkpoints.wait()
        restored, _ = checkpoints.restore(2, target)
        again, logged_again = two(Feed(stream, method), restored, 2)
    for a, b in ((live, again), (logged, logged_again)):
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize(
    "flags, words",
    [
        (
            ["--config.mesh.fsdp=3"],
            "the 3 devices of the fsdp axis do not divide",
        ),
        (
            ["--config.model.attention=splash", "--config.model.dtype=bfloat16"],
            "is a kernel of TPUs, which are not here: leave it auto",
        ),
    ],
)
def test_what_the_devices_refuse_leaves_no_run_behind(tmp_path, flags, words):
    """Else the mend would be refused, as another run's config."""
    workdir = tmp_path / "run"
    with pytest.raises(UserError, match=words):
        train.main(["--config=configs/smoke.py", f"--workdir={workdir}", *flags])
    assert not workdir.exists()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
