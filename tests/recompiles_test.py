"""A program that compiles a second time is an error that names what differs."""

import jax
import jax.numpy as jnp
import pytest

from agrae_jax.recompiles import CompiledOnce, UnexpectedRecompile

STATE = {"params": {"w": jnp.zeros((2, 3))}, "step": jnp.int32(0)}


def counted():
    return CompiledOnce("update", jax.jit(lambda tree, x: (tree["step"] + 1, x)))


def test_an_unexpected_recompile_names_the_differing_leaf():
    update = counted()
    for _ in range(3):
        update(STATE, 1.0)
    assert update.compiles() == 1
    wide = STATE | {"params": {"w": jnp.zeros((2, 4))}}
    with pytest.raises(UnexpectedRecompile) as caught:
        update(wide, 1.0)
    told = str(caught.value)
    assert told.startswith("update was compiled a second time: argument[0]['params']")
    assert "float32[2,3] on" in told and "float32[2,4] on" in told


def test_a_weak_type_and_another_sharding_are_named():
    update = counted()
    update(STATE, jnp.float32(1.0))
    with pytest.raises(UnexpectedRecompile, match=r"argument\[1\].*weak float32\[\]"):
        update(STATE, 1.0)

    update = counted()
    update(STATE, 1.0)
    mesh = jax.make_mesh((2,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.device_put(
        STATE, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    )
    with pytest.raises(UnexpectedRecompile, match=r"\['w'\].*NamedSharding"):
        update(spread, 1.0)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
