"""Sharding tables, their errors, and equality on 8 fake devices."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from agrae_jax import models, sharding
from agrae_jax.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
RULES = {"embed": "fsdp", "heads": "tensor", "norm": None, "batch": "fsdp"}
TABLE = (("a/kernel", ("embed", "heads")), (r"b\d/scale", ("norm",)))


def fake_mesh(fsdp, tensor):
    """Enough of a mesh for the tables: they read its sizes only."""
    return jax.sharding.AbstractMesh((fsdp, tensor), sharding.AXES)


def shapes(**leaves):
    return {k: {n: jax.ShapeDtypeStruct(s, jnp.float32) for n, s in v.items()}
            for k, v in leaves.items()}  # fmt: skip


def test_table_gives_each_parameter_its_mesh_axes():
    tree = shapes(a={"kernel": (8, 4)}, b3={"scale": (5,)})
    found = sharding.named_shardings(tree, TABLE, RULES, fake_mesh(4, 2))
    assert found["a"]["kernel"].spec == P("fsdp", "tensor")
    assert found["b3"]["scale"].spec == P(None)


@pytest.mark.parametrize(
    "tree, kind, message",
    [
        (shapes(c={"kernel": (8, 4)}), ValueError, "c/kernel matches no entry"),
        # the whole path must match, not a part of it
        (shapes(a={"kernel_2": (8, 4)}), ValueError, "a/kernel_2 matches no entry"),
        (shapes(a={"kernel": (8, 4, 2)}), ValueError, "a/kernel has shape (8, 4, 2)"),
        (shapes(a={"kernel": (6, 4)}), UserError, "a/kernel: axis 'embed' of size 6"),
        (shapes(a={"kernel": (8, 3)}), UserError, "a/kernel: axis 'heads' of size 3"),
    ],
)
def test_a_parameter_that_does_not_fit_raises_with_its_path(tree, kind, message):
    with pytest.raises(kind) as caught:
        sharding.named_shardings(tree, TABLE, RULES, fake_mesh(4, 2))
    assert message in str(caught.value)


def test_a_torus_whose_axes_are_too_short_has_one_split():
    chips = [
        SimpleNamespace(
            platform="tpu",
            device_kind="TPU v6 lite",
            coords=(i % 8, i // 8, 0),
            core_on_chip=0,
            process_index=0,
            id=i,
        )
        for i in range(64)
    ]
    grid = sharding.device_grid((16, 4), chips)
    assert grid.shape == (16, 4)
    assert sorted(chip.id for chip in grid.ravel()) == list(range(64))
    for row in grid:  # the four of a row are neighbours
        xs, ys = zip(*(chip.coords[:2] for chip in row), strict=True)
        assert max(xs) - min(xs) + max(ys) - min(ys) == 3


def test_two_logical_axes_on_one_mesh_axis_raise():
    with pytest.raises(ValueError, match="two axes on one mesh axis"):
        sharding.partition_spec(("batch", "embed"), RULES)
    tree = shapes(a={"kernel": (8, 4)})
    twice = {**RULES, "heads": "fsdp"}
    with pytest.raises(ValueError, match="a/kernel.*two axes on one mesh axis"):
        sharding.named_shardings(tree, TABLE, twice, fake_mesh(4, 1))


def test_a_logical_axis_without_a_rule_raises():
    with pytest.raises(ValueError, match="'batsh' has no rule"):
        sharding.partition_spec(("batsh",), RULES)


def test_mesh_sizes_must_use_every_device():
    devices = [SimpleNamespace(id=i) for i in range(8)]
    for fsdp, tensor, message in [
        (-1, 3, "mesh.tensor = 3 does not divide 8 devices"),
        (3, 2, "mesh.fsdp x mesh.tensor = 3 x 2 is not the number of devices, 8"),
        (-1, 0, "mesh.tensor = 0 does not divide"),
    ]:
        with pytest.raises(UserError) as caught:
            sharding.make_mesh(fsdp, tensor, devices)
        assert message in str(caught.value)


def test_mesh_axes_are_auto():
    mesh = sharding.make_mesh(-1, 1, jax.devices()[:1])
    assert dict(mesh.shape) == {"fsdp": 1, "tensor": 1}
    assert set(mesh.axis_types) == {jax.sharding.AxisType.Auto}


def test_constrain_does_nothing_without_a_mesh_and_checks_rank_with_one():
    x = jnp.ones((2, 3))
    assert sharding.constrain(x, ("batch",), RULES) is x
    mesh = sharding.make_mesh(-1, 1, jax.devices()[:1])
    with jax.set_mesh(mesh), pytest.raises(ValueError, match="activation has shape"):
        sharding.constrain(x, ("batch",), RULES)


def dump(family, fsdp, tensor):
    """Path, shape and mesh axes of every parameter, in both mappings."""
    kwargs = {"num_attention_heads": 16, "num_key_value_heads": 8}
    untied = {**kwargs, "tie_word_embeddings": False}
    policy = models.random(family, untied)
    tree = jax.eval_shape(policy.init, jax.random.key(0))
    lines = []
    for name, rules in policy.rules.items():
        placed = sharding.named_shardings(
            tree, policy.param_axes, rules, fake_mesh(fsdp, tensor)
        )
        for path, leaf in jax.tree_util.tree_leaves_with_path(placed):
            lines.append(f"{name} {sharding.tree_path(path)} {tuple(leaf.spec)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("mesh", [(8, 1), (4, 2), (2, 4), (1, 8)])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_shardings_of_every_parameter_are_the_golden_ones(family, mesh):
    file = GOLDEN / f"sharding_{family}_{mesh[0]}x{mesh[1]}.txt"
    found = dump(family, *mesh)
    if os.environ.get("AGRAE_WRITE_GOLDEN"):
        file.write_text(found)
    assert found == file.read_text()


def on_eight_devices(*flags):
    run = subprocess.run(
        [sys.executable, "-m", "tests.sharding_cases", *flags],
        cwd=ROOT,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def some_cases():
    return on_eight_devices()


@pytest.fixture(scope="module")
def all_cases():
    return on_eight_devices("--all")


@pytest.mark.parametrize("case", ["llama 8x1", "llama 2x4", "qwen2 4x2", "qwen3 1x8"])
def test_sharded_equals_unsharded(some_cases, case):
    check_case(case, some_cases[case])


@pytest.mark.slow
@pytest.mark.parametrize("mesh", ["8x1", "4x2", "2x4", "1x8"])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_every_family_on_every_mesh_equals_unsharded(all_cases, family, mesh):
    check_case(f"{family} {mesh}", all_cases[f"{family} {mesh}"])


def check_case(case, found):
    assert found["loss"] < 1e-5
    assert found["hidden"] < 1e-5
    assert found["gradient"] < 1e-5
    assert found["decode"] < 1e-5
    assert found["rows_per_device"] == 8 // int(case.split()[1][0])
    # the embedding, the layers' scan and the result
    assert found["constraints"] >= 3


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
