"""The TPU kernel, interpreted on CPU, against the plain attention of the same rows."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from agrae_jax import models
from agrae_jax.models import attention, splash

RULES = {"batch": "fsdp", "heads": "tensor"}


def arrays(B, G, L, T, M, R, D, P=0, seed=0):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    S = L + G * T
    query = normal(B, S, M, R, D) * D**-0.5
    rows = (query, normal(B, S, M, D), normal(B, S, M, D))
    prefix = (normal(1, P, M, D), normal(1, P, M, D)) if P else None
    return rows, jnp.asarray([L, 3, 1, L - 1][:B], jnp.int32), prefix


def both(rows, length_B, prefix, *, samples, prompt, **options):
    """(output, gradients) of the kernel and of the plain form; padding has no weight.

    A padded prompt position gives no one anything; only what it must not touch is
    compared.
    """
    B, S = rows[0].shape[:2]
    place = jnp.arange(S)
    real = (place >= prompt) | (place < length_B[:, None])
    weight = np.random.default_rng(9).normal(size=(B, S, 1, 1)) * real[..., None, None]

    def run(attend):
        def loss(rows, prefix):
            out = attend(*rows, length_B, samples=samples, prompt=prompt, prefix=prefix)
            return jnp.sum(out * weight), out * real[..., None, None]

        grad = jax.jit(jax.value_and_grad(loss, argnums=(0, 1), has_aux=True))
        (_, out), gradients = grad(rows, prefix)
        return out, gradients

    kernel = functools.partial(
        splash.attend_groups, rules=RULES, interpret=True, **options
    )
    plain = functools.partial(attention.attend_groups, block=1024)
    return run(kernel), run(plain)


CASES = {
    "grouped heads, padded prompts": (dict(B=3, G=3, L=20, T=11, M=1, R=2, D=64), 3),
    "prefix": (dict(B=2, G=2, L=30, T=50, M=2, R=1, D=128, P=7), 2),
    "prompts alone": (dict(B=2, G=1, L=130, T=0, M=1, R=2, D=64), 1),
    "many blocks": (dict(B=1, G=4, L=100, T=257, M=1, R=1, D=64), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_equals_the_plain_attention(name):
    sizes, samples = CASES[name]
    rows, length_B, prefix = arrays(**sizes)
    (out, gradients), (wanted, wanted_gradients) = both(
        rows, length_B, prefix, samples=samples, prompt=sizes["L"]
    )
    np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-5)
    for a, b in zip(
        jax.tree.leaves(gradients), jax.tree.leaves(wanted_gradients), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * float(jnp.abs(b).max()))


def test_the_kernel_is_split_over_a_mesh():
    sizes = dict(B=4, G=2, L=20, T=30, M=2, R=2, D=64)
    rows, length_B, _ = arrays(**sizes)
    (plain, gradients), _ = both(rows, length_B, None, samples=2, prompt=20)
    mesh = jax.make_mesh((4, 2), ("fsdp", "tensor"), axis_types=(AxisType.Auto,) * 2)
    with jax.set_mesh(mesh):
        spread = NamedSharding(mesh, PartitionSpec("fsdp"))
        rows, length_B = jax.device_put((rows, length_B), spread)
        (out, split), _ = both(rows, length_B, None, samples=2, prompt=20)
    assert len(out.sharding.device_set) == 8
    for a, b in zip(
        jax.tree.leaves((plain, gradients)), jax.tree.leaves((out, split)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * float(jnp.abs(a).max()))


def test_the_mask_is_the_groups_structure():
    """2 keys of prefix, 3 of prompt, completions of 2: written out by hand."""
    mask = splash.GroupMask(2, 3, 2, 7, 9)
    wanted = """
    111......
    1111.....
    11111....
    111111...
    1111111..
    11111..1.
    11111..11
    """
    rows = [[x == "1" for x in line.strip()] for line in wanted.split()]
    np.testing.assert_array_equal(mask[:, :], rows)


def test_a_policy_computes_the_same_with_the_kernel():
    """Prefix, prompts, completions and their gradient through a whole model."""
    sizes = {"hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1}
    rng = np.random.default_rng(3)
    groups = (
        rng.integers(0, 512, (2, 9), dtype=np.int32),
        np.array([9, 4], np.int32),
        rng.integers(0, 512, (2, 3, 6), dtype=np.int32),
    )

    def run(kind):
        policy = models.random("qwen2", sizes, attention=kind, prefix=(5, 6, 7))

        def loss(params):
            hidden = policy.forward_groups(params, *groups)
            weight = np.random.default_rng(4).normal(size=hidden.shape)
            return jnp.sum(hidden * weight), hidden

        params = jax.jit(policy.init)(jax.random.key(0))
        grad = jax.jit(jax.value_and_grad(loss, has_aux=True))
        return jax.tree.leaves(grad(params))

    for found, wanted in zip(run("splash_interpreted"), run("plain"), strict=True):
        bound = 1e-5 * float(jnp.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
