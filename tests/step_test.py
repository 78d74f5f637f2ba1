"""The step as a whole: one compile, the same numbers on any mesh and split, golden."""

import dataclasses
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import build, config, step
from agrae_jax.data.batches import Stream
from agrae_jax.metrics import finalize
from agrae_jax.types import Graded, PromptBatch, Rollout, TrainState
from agrae_jax.verify.types import Verdict

SMOKE = str(Path(__file__).parents[1] / "configs" / "smoke.py")


def grade(items):
    """A grader without processes: the gold in a box anywhere is right."""
    return [
        Verdict(
            "correct" if f"\\boxed{{{gold}}}" in text else "wrong", "", None, "", "", 0
        )
        for text, gold in items
    ]


def world(*overrides, devices=1):
    parsed = config.parse(
        [f"--config={SMOKE}", f"--config.mesh.fsdp={devices}", *overrides]
    )
    c = parsed.config
    mesh = build.build_mesh(c)
    model = build.build_model(c, mesh)
    method = build.build_method(c)
    tx = build.build_optimizer(c, method)
    encoded, _ = build.encode_problems(c, build.build_problems(c, "train"), model)
    stream = Stream(encoded, seed=c.seed, batch=c.rollout.prompts)
    state, shardings = build.build_state(model, method, tx)
    fns = build.build_step(c, model, method, tx, shardings, grade)
    return c, mesh, model, method, tx, stream, state, fns


def test_each_program_compiles_once_in_three_steps():
    _, mesh, _, _, _, stream, state, fns = world()
    with jax.set_mesh(mesh):
        for i in range(3):
            batch = stream.batch(i)
            state, _, _ = step.rlvr_step(state, batch.prompts, batch.answers, fns=fns)
    assert int(state.step) == 3
    assert fns.sample.jitted.compiles() == 1
    assert fns.prepare.compiles() == 1
    assert fns.update.compiles() == 1


def fixed_rollout(b=8, g=4, length=16, t=12, vocab=100, seed=0):
    """Prompts and completions of mixed lengths with mixed correctness."""
    rng = np.random.default_rng(seed)
    prompts = PromptBatch(
        tokens_BL=rng.integers(1, vocab, (b, length)).astype(np.int32),
        length_B=rng.integers(3, length + 1, b).astype(np.int32),
        draw_B=np.arange(b, dtype=np.int32),
        prompt_id_B=np.arange(b, dtype=np.int32),
    )
    row_length = rng.integers(1, t + 1, (b, g)).astype(np.int32)
    rollout = Rollout(
        prompts=prompts,
        completion_BGT=rng.integers(1, vocab, (b, g, t)).astype(np.int32),
        length_BG=row_length,
        stop_BG=np.ones((b, g), np.int32),
        logprob_BGT=np.full((b, g, t), -2.0, np.float32),
        entropy_BGT=np.zeros((b, g, t), np.float32),
    )
    graded = Graded(
        correct_BG=(rng.uniform(size=(b, g)) < 0.4).astype(np.float32),
        format_ok_BG=np.ones((b, g), np.float32),
        valid_BG=np.ones((b, g), np.float32),
    )
    return rollout, graded


def gradient_of(devices, micro_batches, *overrides, data=None):
    """(loss, gradient, metrics) of one optimizer batch of a fixed rollout."""
    c, mesh, model, method, _, _, state, _ = world(
        "--config.updates.mini_batches=1",
        f"--config.updates.micro_batches={micro_batches}",
        "--config.rollout.prompts=8",
        *overrides,
        devices=devices,
    )
    spec = build.update_spec(c, method)
    rollout, graded = data or fixed_rollout(vocab=model.policy.vocab_size)
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("fsdp"))
    bound = {"policy": model.policy, "method": method, "spec": spec}
    # Plain gradient descent with rate 1: the step taken is the gradient.
    import optax

    tx = optax.sgd(1.0)
    state = dataclasses.replace(state, opt_state=tx.init(state.params))
    with jax.set_mesh(mesh):
        rollout, graded = jax.device_put((rollout, graded), rows)
        prepared = jax.jit(functools.partial(step.prepare, **bound))(
            state, None, rollout, graded
        )
        after, metrics = jax.jit(functools.partial(step.update, tx=tx, **bound))(
            state, prepared.batches[0]
        )
    gradient = jax.tree.map(lambda a, b: np.asarray(a - b), state.params, after.params)
    values = finalize(jax.device_get(metrics))
    return values["loss"], gradient, values


def assert_same_gradient(a, b, bound):
    norm = np.sqrt(sum((x.astype(np.float64) ** 2).sum() for x in jax.tree.leaves(a)))
    apart = jax.tree.map(lambda x, y: ((x - y).astype(np.float64) ** 2).sum(), a, b)
    assert norm > 1e-3
    assert np.sqrt(sum(jax.tree.leaves(apart))) <= bound * norm


WIDE = (
    "--config.model.kwargs.hidden_size=576",
    "--config.model.kwargs.num_attention_heads=9",
    "--config.model.kwargs.num_key_value_heads=3",
)


NARROW = pytest.param((), marks=pytest.mark.slow, id="narrow")


@pytest.mark.parametrize("overrides", [NARROW, pytest.param(WIDE, id="wide")])
def test_one_device_and_eight_give_the_same_loss_and_gradient(overrides):
    loss_1, gradient_1, _ = gradient_of(1, 1, *overrides)
    loss_8, gradient_8, _ = gradient_of(8, 1, *overrides)
    assert abs(loss_1 - loss_8) <= 1e-5 * max(abs(loss_1), 1e-3)
    assert_same_gradient(gradient_1, gradient_8, 1e-5)


def test_micro_batches_add_up_to_the_whole_batch():
    loss_1, gradient_1, _ = gradient_of(1, 1)
    for micro_batches in (2, 4):
        loss_n, gradient_n, _ = gradient_of(1, micro_batches)
        assert abs(loss_1 - loss_n) <= 1e-6
        assert_same_gradient(gradient_1, gradient_n, 1e-6)


def test_groups_without_advantage_are_not_computed_and_change_nothing():
    """3 of 8 groups are all right or all wrong, so 5 micro-batches of 1 are left."""
    rollout, graded = fixed_rollout()
    solved = np.tile(np.float32([1, 0, 0, 1]), (8, 1))
    solved[[0, 3, 4]] = np.float32([1, 0, 1])[:, None]
    graded = dataclasses.replace(graded, correct_BG=solved)
    whole = gradient_of(1, 1, data=(rollout, graded))
    split = gradient_of(1, 8, data=(rollout, graded))
    assert_same_gradient(whole[1], split[1], 1e-6)
    assert whole[2]["trained_groups"] == 8
    assert split[2]["trained_groups"] == 5


def test_the_state_is_sharded_over_eight_devices():
    *_, state, _ = world(
        "--config.rollout.prompts=32", "--config.eval.prompts=8", devices=8
    )
    assert isinstance(state, TrainState)
    big = [x for x in jax.tree.leaves(state) if x.size >= 4096]
    assert big
    for leaf in big:
        assert leaf.addressable_shards[0].data.size < leaf.size


def test_golden_step():
    """Pinned numbers of one step of the smoke config.

    They move when the model's random init, the data, the noise, the method or the
    optimizer changes. If such a change is meant, put the printed values here and write
    a CHANGELOG line; if not, something else changed by accident.
    """
    _, mesh, _, _, _, stream, state, fns = world()
    with jax.set_mesh(mesh):
        batch = stream.batch(0)
        state, metrics, seen = step.rlvr_step(
            state, batch.prompts, batch.answers, fns=fns
        )
    values = finalize(jax.device_get(metrics))
    found = {name: values[name] for name in GOLDEN}
    print(found)
    for name, expected in GOLDEN.items():
        assert found[name] == pytest.approx(expected, rel=1e-4, abs=1e-6), name
    assert float(jnp.abs(seen.advantage_BG).sum()) > 0


GOLDEN = {
    "reward": 0.15625,
    "omega": 0.15625,
    "length": 14.625,
    "entropy": 4.141177185580262,
    "grad_norm": 1.3734949827194214,
    "loss": 0.1262887865304947,
}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
