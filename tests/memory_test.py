"""The estimate adds up the arrays that a run holds, and names what to turn."""

import jax
import jax.numpy as jnp
import pytest

from agrae_jax import memory
from agrae_jax.errors import UserError
from tests.step_test import world

GIB = 2**30
SMALL = {"parameters": GIB, "optimizer": 2 * GIB, "reference": 0}


def made(limit=None, **learning):
    learning = {"gradients": GIB, "activations": 0, "logits": 0} | learning
    return memory.Estimate(SMALL, {"key-value cache": GIB // 2}, learning, limit)


def test_the_peak_is_what_is_held_and_the_larger_phase():
    assert made().peak == 4 * GIB
    text = made(limit=8 * GIB).text()
    assert text.startswith("memory, a device: about 4.00 GiB of 8.00 GiB (optimizer")


def test_a_run_that_will_hardly_fit_is_warned_of_with_the_knob():
    assert made(limit=5 * GIB).warning() == "" and made().warning() == ""
    told = made(limit=8 * GIB, activations=5 * GIB).warning()
    assert "needs about 9.00 GiB" in told and "updates.micro_batches" in told


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("sample", "in sampling; .* Turn rollout.wave"),
        ("learn", "in the update; .* Turn mesh.fsdp"),
        ("", "in evaluation; .* Turn rollout.wave .* or eval.prompts"),
        ("build", "restoring the model; .* about optimizer 2.00, parameters 1.00. Tur"),
    ],
)
def test_a_failed_allocation_is_one_line_by_phase(phase, words):
    error = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")
    with pytest.raises(UserError, match=words):
        made().explain(error, phase)
    assert made().explain(jax.errors.JaxRuntimeError("INTERNAL: x"), phase) is None
    full = ValueError("RESOURCE_EXHAUSTED: Failed writing: No space left on device")
    assert made().explain(full, phase) is None  # a disk, and TensorStore's word for it


def test_parameters_and_optimizer_are_counted_as_they_are():
    c, _, model, _, _, stream, state, _ = world()
    found = memory.estimate(c, model, state, prompt=stream.length, reference=True)
    leaves = jax.tree.leaves(state.params)
    size = sum(x.size for x in leaves) * jnp.dtype("float32").itemsize
    assert found.held["parameters"] == found.held["reference"] == size
    assert 2 * size <= found.held["optimizer"] < 2.01 * size
    # Keys and values: 2 layers x 4 groups x 2 heads x 16 x (prompt + 8 x 16) floats.
    tokens = stream.length + 8 * 16
    cache = found.sampling["key-value cache"]
    assert 0 <= cache - 2 * 2 * 4 * 2 * 16 * tokens * 4 < 10_000
    assert found.limit and found.limit > GIB


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
