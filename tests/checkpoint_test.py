import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from agrae_jax import checksums
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.checksums import BrokenCheckpoint
from agrae_jax.errors import UserError
from agrae_jax.types import TrainState

ROOT = Path(__file__).resolve().parent.parent


def _params(seed=0, width=16):
    keys = jax.random.split(jax.random.key(seed), 3)
    return {
        "layers": {
            "q": jax.random.normal(keys[0], (2, width, width)),
            "norm": jax.random.normal(keys[1], (2, width)).astype(jnp.bfloat16),
        },
        "embed": jax.random.normal(keys[2], (32, width)),
    }


def _optimizer():
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(optax.linear_schedule(0.0, 1e-2, 10)),
    )


def _state(seed=0, step=3, width=16):
    params = _params(seed, width)
    tx = _optimizer()
    opt_state = tx.init(params)
    _, opt_state = tx.update(params, opt_state, params)
    return TrainState(
        step=jnp.int32(step),
        params=params,
        opt_state=opt_state,
        method_state={"ema": jnp.float32(0.25), "q": jnp.arange(5.0)},
    )


def _target(tree):
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), tree
    )


def _assert_bit_equal(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.fixture
def saved(tmp_path):
    """Checkpoints of steps 1, 2, 3 with keep=2, and the states that went in."""
    lines = []
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep=2, say=lines.append)
    states = {step: _state(seed=step, step=step) for step in (1, 2, 3)}
    for step, state in states.items():
        checkpoints.save(step, state, {"cursor": [0, 8 * step]})
    checkpoints.wait()
    yield checkpoints, states, lines
    checkpoints.close()


def test_restore_is_bit_equal_and_keeps_optax_structure(saved):
    checkpoints, states, _ = saved
    state, meta = checkpoints.restore(3, _target(states[3]))
    _assert_bit_equal(state, states[3])
    assert type(state.opt_state[1][0]) is type(states[3].opt_state[1][0])
    assert meta == {"cursor": [0, 24]}
    assert int(state.step) == 3 and state.step.dtype == jnp.int32


def test_steps_latest_and_retention(saved):
    checkpoints, _, _ = saved
    assert checkpoints.steps() == [2, 3]
    assert checkpoints.latest() == 3
    assert checkpoints.meta(2) == {"cursor": [0, 16]}


def test_every_so_many_steps_one_is_kept(tmp_path):
    with Checkpoints(tmp_path, keep=1, keep_every=2) as checkpoints:
        for step in range(1, 6):
            checkpoints.save(step, _state(seed=step, step=step), {})
        checkpoints.wait()
        assert checkpoints.steps() == [2, 4, 5]


def test_empty_directory_has_no_latest(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    assert checkpoints.latest() is None
    assert checkpoints.steps() == []
    assert checkpoints.restore_latest(_target(_state())) is None
    checkpoints.close()


def test_state_without_optimizer_or_method_arrays(tmp_path):
    state = TrainState(jnp.int32(1), _params(), optax.identity().init({}), ())
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(1, state, {})
    checkpoints.wait()
    restored, meta = checkpoints.restore(1, _target(state))
    _assert_bit_equal(restored, state)
    assert restored.method_state == () and meta == {}
    checkpoints.close()


def test_restore_params_only_to_another_dtype(saved):
    checkpoints, states, _ = saved
    target = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, jnp.bfloat16, sharding=x.sharding),
        states[2].params,
    )
    params, meta = checkpoints.restore_params(2, target)
    want = jax.tree.map(lambda x: x.astype(jnp.bfloat16), states[2].params)
    _assert_bit_equal(params, want)
    assert meta == {"cursor": [0, 16]}


def test_restore_params_without_the_optimizer_files(saved):
    checkpoints, states, _ = saved
    for path in (checkpoints.directory / "3" / "opt_state").rglob("*"):
        if path.is_file():
            path.unlink()
    params, _ = checkpoints.restore_params(3, _target(states[3].params))
    _assert_bit_equal(params, states[3].params)
    with pytest.raises(BrokenCheckpoint, match="opt_state.*is missing"):
        checkpoints.restore(3, _target(states[3]))


def test_restored_training_continues_bit_equal(saved):
    # Two more optimizer steps from the restored state equal those from the live one.
    checkpoints, states, _ = saved
    tx = _optimizer()

    @jax.jit
    def step(params, opt_state):
        gradient = jax.tree.map(lambda x: x * x, params)
        updates, opt_state = tx.update(gradient, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    restored, _ = checkpoints.restore(3, _target(states[3]))
    live = (states[3].params, states[3].opt_state)
    again = (restored.params, restored.opt_state)
    for _ in range(2):
        live, again = step(*live), step(*again)
    _assert_bit_equal(live, again)
    assert not np.array_equal(live[0]["embed"], states[3].params["embed"])


def test_save_survives_donation_of_what_it_saves(tmp_path):
    # The next step donates the state while orbax still writes it.
    big = {"w": jnp.arange(4_000_000, dtype=jnp.float32)}
    want = np.array(big["w"])
    state = TrainState(jnp.int32(1), big, (), ())
    target = _target(state)
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(1, state, {})
    zero = jax.jit(lambda p: jax.tree.map(lambda x: x * 0 - 1, p), donate_argnums=0)
    jax.block_until_ready(zero(big))
    checkpoints.wait()
    restored, _ = checkpoints.restore(1, target)
    np.testing.assert_array_equal(restored.params["w"], want)
    checkpoints.close()


def _largest(directory):
    files = [path for path in directory.rglob("*") if path.is_file()]
    return max(files, key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("harm", ["flip", "truncate", "remove"])
def test_broken_checkpoint_names_the_file_and_falls_back(saved, harm):
    checkpoints, states, lines = saved
    path = _largest(checkpoints.directory / "3" / "params")
    data = bytearray(path.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif harm == "truncate":
        path.write_bytes(data[:-7])
    else:
        path.unlink()
    with pytest.raises(BrokenCheckpoint) as info:
        checkpoints.restore(3, _target(states[3]))
    assert str(path) in str(info.value) and "\n" not in str(info.value)

    step, state, _ = checkpoints.restore_latest(_target(states[3]))
    assert step == 2
    _assert_bit_equal(state, states[2])
    assert len(lines) == 1 and str(path) in lines[0] and "falling back" in lines[0]
    # The step can be saved again, and is good then.
    checkpoints.save(3, states[3], {})
    checkpoints.wait()
    assert checkpoints.restore_latest(_target(states[3]))[0] == 3


@pytest.mark.slow
def test_a_bit_flipped_in_any_file_falls_back_or_does_not_matter(saved, tmp_path):
    checkpoints, states, _ = saved
    root = checkpoints.directory
    names = [p.relative_to(root) for p in (root / "3").rglob("*") if p.is_file()]
    fell_back = 0
    for number, name in enumerate(sorted(names)):
        copy = Path(shutil.copytree(root, tmp_path / str(number)))
        data = bytearray((copy / name).read_bytes())
        if not data:
            continue
        data[len(data) // 2] ^= 4
        (copy / name).write_bytes(data)
        said = []
        with Checkpoints(copy, keep=2, say=said.append) as harmed:
            step, state, _ = harmed.restore_latest(_target(states[3]))
        _assert_bit_equal(state, states[step])
        assert len(said) == int(step == 2)
        fell_back += len(said)
    assert len(names) > 30 and fell_back > 25


def test_a_checkpoint_under_another_number_is_broken(saved):
    checkpoints, states, lines = saved
    (checkpoints.directory / "3").rename(checkpoints.directory / "9")
    reader = Checkpoints(checkpoints.directory, keep=2, say=lines.append)
    assert reader.restore_latest(_target(states[3]))[0] == 2
    assert "checkpoints/9 is that of step 3; falling back" in lines[0]
    reader.close()


def test_what_is_no_damage_sets_no_checkpoint_aside(saved, monkeypatch):
    """A file that may not be read, memory that runs out: the checkpoint is well."""
    checkpoints, states, lines = saved

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(checksums.zlib, "crc32", forbidden)
        with pytest.raises(UserError, match="cannot read .*/3/.*mend the rights"):
            checkpoints.restore_latest(_target(states[3]))

    def exhausted(*_, **__):
        raise ValueError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints._manager, "restore", exhausted)
        with pytest.raises(ValueError, match="RESOURCE_EXHAUSTED"):
            checkpoints.restore_latest(_target(states[3]))
    assert lines == [] and checkpoints.restore_latest(_target(states[3]))[0] == 3


@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"meta/metadata": 1}', "{"])
def test_damaged_checksums_are_a_broken_checkpoint(saved, text):
    checkpoints, states, _ = saved
    (checkpoints.directory / "3" / checksums.FILE).write_text(text)
    with pytest.raises(BrokenCheckpoint, match=f"{checksums.FILE} is damaged"):
        checkpoints.restore(3, _target(states[3]))


def test_checkpoint_without_checksums_is_broken(saved):
    checkpoints, states, _ = saved
    (checkpoints.directory / "3" / checksums.FILE).unlink()
    with pytest.raises(BrokenCheckpoint, match=checksums.FILE):
        checkpoints.restore(3, _target(states[3]))


def test_with_no_whole_checkpoint_left_the_run_begins_again(saved):
    checkpoints, states, lines = saved
    for step in (2, 3):
        (checkpoints.directory / str(step) / checksums.FILE).unlink()
    assert checkpoints.restore_latest(_target(states[3])) is None
    assert [line.rsplit("; ")[1] for line in lines] == [
        "falling back to the one before",
        "falling back to the beginning",
    ]


def test_checksums_cover_every_item_file(saved):
    checkpoints, _, _ = saved
    root = checkpoints.directory / "3"
    listed = set(json.loads((root / checksums.FILE).read_text()))
    on_disk = {
        path.relative_to(root).as_posix()
        for path in root.glob("*/**/*")
        if path.is_file() and path.name != "commit_success.txt"
    }
    assert listed == on_disk
    assert {name.split("/")[0] for name in listed} == {
        "params",
        "opt_state",
        "method_state",
        "meta",
    }


def test_missing_step_says_which_there_are(saved):
    checkpoints, states, _ = saved
    with pytest.raises(UserError, match="no checkpoint of step 7 .* are: 2, 3"):
        checkpoints.restore(7, _target(states[3]))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda p: {**p, "extra": p["embed"]}, "params lacks array extra"),
        (lambda p: {"layers": p["layers"]}, "params has a surplus array embed"),
        (
            lambda p: {**p, "embed": jax.ShapeDtypeStruct((8, 16), jnp.float32)},
            r"params/embed has shape \(32, 16\), this run wants \(8, 16\)",
        ),
        (
            lambda p: {**p, "embed": jax.ShapeDtypeStruct((32, 16), jnp.bfloat16)},
            "params/embed has dtype float32, this run wants",
        ),
    ],
)
def test_other_arrays_are_refused_not_fallen_back_from(saved, change, message):
    checkpoints, states, lines = saved
    target = _target(states[3])
    target = TrainState(
        target.step, change(target.params), target.opt_state, target.method_state
    )
    with pytest.raises(UserError, match=message):
        checkpoints.restore_latest(target)
    assert checkpoints.steps() == [2, 3] and lines == []


def test_unfinished_save_is_invisible_and_swept_by_the_writer_only(tmp_path):
    # What a kill in the middle of a save leaves behind; and what an evaluation must
    # leave alone in a run that is being trained.
    unfinished = tmp_path / "5.orbax-checkpoint-tmp" / "params"
    unfinished.mkdir(parents=True)
    reader = Checkpoints(tmp_path, keep=None)
    assert reader.latest() is None and unfinished.is_dir()
    reader.close()
    writer = Checkpoints(tmp_path, keep=2)
    assert writer.latest() is None and not unfinished.exists()
    writer.close()


def test_reader_restores(saved):
    checkpoints, states, _ = saved
    reader = Checkpoints(checkpoints.directory, keep=None)
    params, _ = reader.restore_params(3, _target(states[3].params))
    _assert_bit_equal(params, states[3].params)
    # A process that has saved nothing yet must read all items, too.
    state, meta = reader.restore(3, _target(states[3]))
    _assert_bit_equal(state, states[3])
    assert meta == {"cursor": [0, 24]}
    reader.close()


def test_reader_of_nothing_says_so(tmp_path):
    with pytest.raises(UserError, match="there is no checkpoint directory .*/none"):
        Checkpoints(tmp_path / "none", keep=None)


def test_full_disk_is_one_line(saved, monkeypatch):
    checkpoints, states, _ = saved

    def save(*args, **kwargs):
        raise ValueError("INTERNAL: Error writing: No space left on device [errno 28]")

    monkeypatch.setattr(checkpoints._manager, "save", save)
    with pytest.raises(UserError, match="could not save .* No space left; make room"):
        checkpoints.save(9, states[3], {})


OTHER_MESH = """
import sys, numpy as np, jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.types import TrainState

def mesh(shape):
    auto = (jax.sharding.AxisType.Auto,) * 2
    return jax.make_mesh(shape, ("a", "b"), axis_types=auto)

assert len(jax.devices()) == 8
old = NamedSharding(mesh((8, 1)), P("a", "b"))
new = NamedSharding(mesh((2, 4)), P("a", "b"))
w = jnp.arange(64.0 * 32).reshape(64, 32)
tree = {"w": jax.device_put(w, old)}
checkpoints = Checkpoints(sys.argv[1], keep=1)
checkpoints.save(1, TrainState(jnp.int32(1), tree, {"mu": tree}, ()), {})
checkpoints.wait()
like = {"w": jax.ShapeDtypeStruct(w.shape, w.dtype, sharding=new)}
target = TrainState(jax.ShapeDtypeStruct((), jnp.int32), like, {"mu": like}, ())
state, _ = checkpoints.restore(1, target)
for leaf in (state.params["w"], state.opt_state["mu"]["w"]):
    assert leaf.sharding == new, leaf.sharding
    assert leaf.addressable_shards[0].data.shape == (32, 8)
    np.testing.assert_array_equal(leaf, w)
checkpoints.close()
print("same on another mesh")
"""


def test_restore_onto_another_mesh(tmp_path):
    flags = "--xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "-c", OTHER_MESH, str(tmp_path)],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "same on another mesh\n", done.stderr[-3000:]


def test_importing_the_door_does_not_import_orbax():
    code = "import sys, agrae_jax.checkpoint; assert 'orbax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
