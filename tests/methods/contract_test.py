"""What every file of methods/ must keep: finite, jittable, honest about promises.

Files are found by `methods.names()`: a new method is tested here by existing.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from agrae_jax import methods
from agrae_jax.rl import loss
from agrae_jax.rl.diagnostics import diagnostics, rollout_diagnostics
from agrae_jax.types import (
    STOP_EOS,
    STOP_LENGTH,
    STOP_NONE,
    Beside,
    RewardInput,
    TokenContext,
)

NAMES = methods.names()
BUDGET = 6
NEEDS = {
    "token_entropy": "entropy_BGT",
    "old_entropy": "old_entropy_BGT",
    "ref_logprob": "ref_logprob_BGT",
}
OTHER_NEEDS = {"current_first_pass", "old_logprob", "ref_gap", "greedy_rollout"}

pytestmark = pytest.mark.parametrize("name", NAMES)


@functools.cache
def resolve(name):
    return methods.resolve(name)


@functools.cache
def batch(group, *, hostile=True, seed=0):
    """Prompts with p = 0, 1, and between, and arrays of every kind a method may see.

    `hostile` adds a group with an ungradable sample of NaN correctness, a group with
    one empty completion, and a group of padding; every array holds NaN at padding.
    """
    rng = np.random.default_rng(seed)
    count = 8
    correct = np.zeros((count, group), np.float32)
    correct[1] = 1.0
    correct[2, 0] = 1.0
    correct[3, 1:] = 1.0
    correct[4, : group // 2] = 1.0
    correct[5, :1] = correct[6, :1] = 1.0
    length = rng.integers(1, BUDGET + 1, (count, group))
    valid = np.ones((count, group), np.float32)
    stop = np.where(length == BUDGET, STOP_LENGTH, STOP_EOS)
    if hostile:
        correct[5, -1], valid[5, -1] = np.nan, 0.0
        length[6, -1], stop[6, -1] = 0, STOP_NONE
        length[7], stop[7], valid[7] = 0, STOP_NONE, 0.0
    seen = RewardInput(
        correct_BG=jnp.asarray(correct),
        format_ok_BG=jnp.asarray(valid),
        valid_BG=jnp.asarray(valid),
        length_BG=jnp.asarray(length, jnp.int32),
        stop_BG=jnp.asarray(stop, jnp.int32),
    )
    mask = (np.arange(BUDGET) < length[..., None]).astype(np.float32)
    junk = np.where(mask > 0, 0.0, np.nan if hostile else 0.0)

    def logprobs(spread):
        return (-np.abs(rng.normal(1.5, spread, mask.shape)) + junk).astype(np.float32)

    base = logprobs(1.0)

    def near(spread):
        return (base + rng.normal(0, spread, mask.shape)).astype(np.float32)

    entropy = (rng.uniform(0.1, 2.0, mask.shape) + junk).astype(np.float32)
    return seen, {
        "mask_BGT": mask,
        "logprob_BGT": near(0.4),
        "old_logprob_BGT": base,
        "sampler_logprob_BGT": near(0.2),
        "ref_logprob_BGT": near(0.5),
        "entropy_BGT": entropy,
        "old_entropy_BGT": entropy,
        "statistic_BGT": (entropy / 2).astype(np.float32),
    }


def context(method, seen, inputs, arrays):
    return TokenContext(
        **jax.tree.map(jnp.asarray, arrays),
        weight_BGT=method.reduction(jnp.asarray(arrays["mask_BGT"]), BUDGET),
        length_BG=inputs.length_BG,
        stop_BG=seen.stop_BG,
        correct_BG=inputs.correct_BG,
        valid_BG=inputs.valid_BG,
        reward_BG=inputs.reward_BG,
        stats=inputs.stats,
    )


def token_parts(method, ctx, advantage_BG):
    """Credit and token mask, as the step fixes them over an optimizer batch."""
    advantage_BGT = method.credit(advantage_BG, ctx)
    keep_BGT = jnp.ones_like(ctx.mask_BGT)
    if method.token_select is not None:
        selected_BGT = method.token_select(ctx, advantage_BGT)
        ctx = dataclasses.replace(ctx, selected_BGT=selected_BGT)
    if method.token_mask is not None:
        keep_BGT = method.token_mask(ctx, advantage_BGT)
    return ctx, advantage_BGT, keep_BGT


def advantages(method, seen):
    """As the step calls it: greedy completions of every other prompt are right."""
    greedy = None
    if "greedy_rollout" in method.needs:
        greedy = jax.tree.map(lambda x: x[:, :1], seen)
        right = (jnp.arange(len(seen.correct_BG)) % 2 == 0).astype(jnp.float32)
        ones = jnp.ones((len(right), 1))
        greedy = dataclasses.replace(greedy, correct_BG=right[:, None], valid_BG=ones)
    return loss.advantages(seen, method=method, beside=Beside(greedy=greedy))


def loss_and_gradient(method, ctx, advantage_BGT, keep_BGT, state):
    def run(logprob_BGT, entropy_BGT):
        moved = dataclasses.replace(
            ctx, logprob_BGT=logprob_BGT, entropy_BGT=entropy_BGT
        )
        return loss.rlvr_loss(moved, advantage_BGT, keep_BGT, state, method=method)

    grad = jax.value_and_grad(run, argnums=(0, 1), has_aux=True)
    return grad(ctx.logprob_BGT, ctx.entropy_BGT)


def whole(method, seen, arrays):
    inputs, advantage_BG = advantages(method, seen)
    state = method.init_state()
    if method.select is not None:
        train_BG = method.select(state, seen)
        mask_BGT = arrays["mask_BGT"] * train_BG[..., None]
        arrays = arrays | {"mask_BGT": mask_BGT}
    ctx = context(method, seen, inputs, arrays)
    ctx, advantage_BGT, keep_BGT = token_parts(method, ctx, advantage_BG)
    if method.update_state is not None:
        metrics = diagnostics(inputs, advantage_BG, seen.stop_BG)
        metrics |= rollout_diagnostics(
            inputs,
            ctx.mask_BGT,
            ctx.sampler_logprob_BGT,
            jnp.asarray(arrays["entropy_BGT"]),
            None if method.token_statistic is None else ctx.statistic_BGT,
        )
        state = method.update_state(state, inputs, advantage_BG, metrics)
    (value, metrics), grads = loss_and_gradient(
        method, ctx, advantage_BGT, keep_BGT, state
    )
    return {
        "inputs": inputs,
        "advantage": advantage_BG,
        "ctx": ctx,
        "advantage_BGT": advantage_BGT,
        "keep": keep_BGT,
        "state": state,
        "loss": value,
        "metrics": metrics,
        "grads": grads,
    }


@functools.cache
def ran(name, group, hostile=True):
    return whole(resolve(name), *batch(group, hostile=hostile))


@pytest.mark.parametrize("group", [2, 8])
def test_finite_whatever_the_group_holds(name, group):
    out = dict(ran(name, group))
    shape = (8, group)
    assert out["advantage"].shape == shape and out["advantage"].dtype == jnp.float32
    assert out["advantage_BGT"].shape == (*shape, BUDGET)
    assert out["keep"].shape == (*shape, BUDGET)
    assert out["loss"].shape == () and out["loss"].dtype == jnp.float32
    out.pop("ctx")  # holds NaN at padding on purpose
    for path, leaf in jax.tree_util.tree_leaves_with_path(out):
        assert np.isfinite(leaf).all(), jax.tree_util.keystr(path)


@pytest.mark.slow
@pytest.mark.parametrize(("verdict", "valid"), [(1.0, 1.0), (0.0, 1.0), (0.0, 0.0)])
def test_finite_over_two_steps_of_one_verdict(name, verdict, valid):
    """All right, all wrong or all ungradable, in groups of two."""
    seen, arrays = batch(2)
    one = jnp.ones_like(seen.correct_BG)
    seen = dataclasses.replace(seen, correct_BG=one * verdict, valid_BG=one * valid)
    method = resolve(name)
    for _ in range(2):
        out = whole(method, seen, arrays)
        out.pop("ctx")  # holds NaN at padding on purpose
        for path, leaf in jax.tree_util.tree_leaves_with_path(out):
            assert np.isfinite(leaf).all(), jax.tree_util.keystr(path)
        method = dataclasses.replace(method, init_state=lambda s=out["state"]: s)


def test_padding_and_ungradable_samples_get_nothing(name):
    seen, arrays = batch(8)
    out = ran(name, 8)
    assert (out["advantage"][np.asarray(seen.valid_BG) == 0] == 0).all()
    padding = arrays["mask_BGT"] == 0
    for grad in out["grads"]:
        assert (np.asarray(grad)[padding] == 0).all()


def test_it_learns_something(name):
    out = ran(name, 8, hostile=False)
    assert jnp.abs(out["grads"][0]).max() > 1e-6


def test_jit_on_a_mesh_gives_the_same(name):
    """Groups lie on eight devices; statistics and quantiles are of all of them."""
    method = resolve(name)
    plain = ran(name, 8)
    mesh = jax.make_mesh((8,), ("groups",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("groups"))
    seen, arrays = jax.device_put(batch(8), rows)
    jitted = jax.jit(lambda s, a: whole(method, s, a))(seen, arrays)
    assert len(jitted["grads"][0].sharding.device_set) == 8
    for key in ("advantage", "loss", "grads"):
        for a, b in zip(
            jax.tree.leaves(plain[key]), jax.tree.leaves(jitted[key]), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=5e-6, atol=5e-6, err_msg=key)


def test_order_within_a_group_does_not_matter(name):
    method = resolve(name)
    seen, arrays = batch(8)
    order = np.array([2, 0, 7, 3, 1, 6, 4, 5])
    shuffle = functools.partial(jax.tree.map, lambda x: x[:, order])
    plain, moved = ran(name, 8), whole(method, *shuffle((seen, arrays)))
    np.testing.assert_allclose(
        moved["advantage"], plain["advantage"][:, order], rtol=5e-6, atol=5e-6
    )
    np.testing.assert_allclose(moved["loss"], plain["loss"], rtol=5e-6, atol=5e-6)
    for a, b in zip(moved["grads"], plain["grads"], strict=True):
        np.testing.assert_allclose(a, b[:, order], rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize("parts", [4, pytest.param(2, marks=pytest.mark.slow)])
def test_micro_batches_add_up(name, parts):
    method, out = resolve(name), ran(name, 8)
    total, grads, metrics = 0.0, [], []
    for index in range(parts):
        rows = functools.partial(
            jax.tree.map, lambda x, i=index: x[i::parts] if x.ndim else x
        )
        (value, some), grad = loss_and_gradient(
            method,
            rows(out["ctx"]),
            rows(out["advantage_BGT"]),
            rows(out["keep"]),
            out["state"],
        )
        total += value
        grads.append(grad)
        metrics.append(some)
    np.testing.assert_allclose(total, out["loss"], rtol=1e-6, atol=1e-6)
    for which in (0, 1):
        joined = np.zeros_like(out["grads"][which])
        for index, grad in enumerate(grads):
            joined[index::parts] = grad[which]
        np.testing.assert_allclose(joined, out["grads"][which], rtol=1e-6, atol=1e-7)
    for key, pair in out["metrics"].items():
        summed = np.sum([m[key] for m in metrics], 0)
        np.testing.assert_allclose(summed, pair, rtol=5e-6, atol=5e-6, err_msg=key)


def test_zero_sum_is_kept_if_promised_and_broken_if_not(name):
    out = ran(name, 8)
    alive = ~np.asarray(out["inputs"].stats.degenerate_B)
    sums = np.asarray(out["advantage"].sum(-1))[alive]
    if resolve(name).zero_sum:
        np.testing.assert_allclose(sums, 0.0, atol=5e-6)
    else:
        assert np.abs(sums).max() > 1e-3


def test_dead_groups_are_zero_if_promised_and_not_if_not(name):
    # Nobody right, everybody right.
    dead = np.asarray(ran(name, 8, hostile=False)["advantage"])[:2]
    if resolve(name).dead_groups_zero:
        np.testing.assert_array_equal(dead, 0.0)
    else:
        assert np.abs(dead).max() > 1e-3


def test_it_asks_only_for_what_can_be_computed(name):
    assert resolve(name).needs <= {*NEEDS, *OTHER_NEEDS}
    seen, arrays = batch(8, hostile=False)
    method = resolve(name)
    absent = {key: None for need, key in NEEDS.items() if need not in method.needs}
    if method.token_statistic is None:
        absent["statistic_BGT"] = None
    inputs, advantage_BG = advantages(method, seen)
    ctx = context(method, seen, inputs, arrays | absent)
    first = ctx
    if "current_first_pass" in method.needs:  # of which the entropies are known
        entropy_BGT = jnp.asarray(arrays["entropy_BGT"])
        first = dataclasses.replace(ctx, entropy_BGT=entropy_BGT)
    first, advantage_BGT, keep_BGT = token_parts(method, first, advantage_BG)
    ctx = dataclasses.replace(ctx, selected_BGT=first.selected_BGT)
    value, _ = loss.rlvr_loss(
        ctx, advantage_BGT, keep_BGT, method.init_state(), method=method
    )
    assert np.isfinite(value)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
