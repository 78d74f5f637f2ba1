"""Loss and gradient of a fixed rollout do not depend on how it is laid out.

Micro-batches 1, 2, 4, one device against eight and the counts of compiles are in
step_test.py, every mesh in sharding_test.py, sampling against waves, companions and
segments in rollout_test.py and segments_test.py. There is no packing: a row holds one
group.
"""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from tests.step_test import (
    WIDE,
    assert_same_gradient,
    fixed_rollout,
    gradient_of,
    world,
)

VOCAB = 112  # of the tiny tokenizer
BOUND = 1e-5  # of the norm: float32 sums in another order, at width 576


@functools.cache
def plain():
    return gradient_of(1, 2, *WIDE)


def assert_same(other):
    loss, gradient, _ = plain()
    assert abs(other[0] - loss) <= 1e-5 * max(abs(loss), 1e-3)
    assert_same_gradient(gradient, other[1], BOUND)


def padded(rollout, prompt, completion):
    """The same rollout with more room, and garbage in it: masks come from lengths."""
    extra_L = np.full((8, prompt), 5, np.int32)
    tokens_BL = np.concatenate([rollout.prompts.tokens_BL, extra_L], 1)
    wider = {}
    for name, garbage in (("completion_BGT", 9), ("logprob_BGT", 3.0)):
        array = getattr(rollout, name)
        extra_T = np.full((8, 4, completion), garbage, array.dtype)
        wider[name] = np.concatenate([array, extra_T], 2)
    wider["entropy_BGT"] = np.zeros(wider["logprob_BGT"].shape, np.float32)
    prompts = dataclasses.replace(rollout.prompts, tokens_BL=tokens_BL)
    return dataclasses.replace(rollout, prompts=prompts, **wider)


def test_padding_does_not_matter():
    rollout, graded = fixed_rollout(vocab=VOCAB)
    assert_same(gradient_of(1, 2, *WIDE, data=(padded(rollout, 8, 12), graded)))


@pytest.mark.parametrize("axis", ["groups", "samples"])
def test_the_order_of_rows_does_not_matter(axis):
    order = np.array([3, 1, 7, 0, 2, 6, 5, 4] if axis == "groups" else [2, 0, 3, 1])
    rollout, graded = fixed_rollout(vocab=VOCAB)

    def shuffled(x):
        if axis == "groups":
            return x[order]
        return x[:, order] if x.ndim > 1 else x

    prompts = rollout.prompts
    if axis == "groups":
        prompts = jax.tree.map(shuffled, prompts)
    names = [f.name for f in dataclasses.fields(rollout) if f.name != "prompts"]
    moved = {name: shuffled(getattr(rollout, name)) for name in names}
    moved = dataclasses.replace(rollout, prompts=prompts, **moved)
    grades = jax.tree.map(shuffled, graded)
    assert_same(gradient_of(1, 2, *WIDE, data=(moved, grades)))


@pytest.mark.parametrize("chunk", [7, pytest.param(4096, marks=pytest.mark.slow)])
def test_the_chunk_of_logits_does_not_matter(chunk):
    assert_same(gradient_of(1, 2, *WIDE, f"--config.updates.logprob_chunk={chunk}"))


@pytest.mark.slow  # eight devices decode slowly on two cores
def test_samples_do_not_depend_on_the_mesh():
    """One device, and four by two: the same tokens, to the last."""
    sizes = ("--config.rollout.prompts=8", "--config.updates.mini_batches=1")
    sizes += ("--config.updates.micro_batches=1",)

    def sampled(devices, *overrides):
        _, mesh, model, _, _, stream, state, fns = world(
            *sizes, *overrides, devices=devices
        )
        with jax.set_mesh(mesh):
            rollout = fns.sample(state.params, stream.batch(0).prompts)
        assert len(rollout.length_BG.sharding.device_set) == mesh.size
        return jax.device_get(rollout)

    one, eight = sampled(1), sampled(4, "--config.mesh.tensor=2")
    assert len(np.unique(one.completion_BGT)) > 20
    for name in ("completion_BGT", "length_BG", "stop_BG"):
        np.testing.assert_array_equal(getattr(one, name), getattr(eight, name))


@pytest.mark.slow  # tests/sharding_test.py holds every mesh to one device, quickly
@pytest.mark.parametrize("tensor", [2, 4])
def test_a_mesh_with_a_tensor_axis_gives_the_same(tensor):
    sizes = (
        "--config.model.kwargs.hidden_size=576",
        "--config.model.kwargs.num_attention_heads=12",
        "--config.model.kwargs.num_key_value_heads=4",
        "--config.model.kwargs.intermediate_size=128",
        "--config.updates.micro_batches=1",
    )
    one = gradient_of(1, 1, *sizes)
    other = gradient_of(8 // tensor, 1, *sizes, f"--config.mesh.tensor={tensor}")
    assert abs(one[0] - other[0]) <= 1e-5 * max(abs(one[0]), 1e-3)
    assert_same_gradient(one[1], other[1], BOUND)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
