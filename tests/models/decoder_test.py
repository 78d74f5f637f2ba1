"""The three forms of the decoder against a flat one, and against each other."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from agrae_jax import models
from tests.models import flat

B, G, L, T = 2, 3, 9, 7
LENGTH = np.array([9, 5], np.int32)
WIDE = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
}
UNTIED = {"tie_word_embeddings": False}
TIED = {"tie_word_embeddings": True}
CASES = {
    "llama": ("llama", TIED),
    "qwen2": ("qwen2", UNTIED),
    "wide llama": ("llama", {**WIDE, **TIED}),
    "wide qwen2": ("qwen2", {**WIDE, **UNTIED}),
}
# The wide ones hold all that the narrow ones do; compiling is what takes the time.
QUICK = ["wide llama", "wide qwen2"]
LONG = [pytest.param(case, marks=pytest.mark.slow) for case in ("llama", "qwen2")]


@functools.cache
def setup(case, **options):
    family, kwargs = CASES[case]
    policy = models.random(family, kwargs, **options)
    params = jax.jit(policy.init)(jax.random.key(0))
    # initial norms are one and biases zero, which would hide a missing one
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    jitter = [x + 0.1 * jax.random.normal(k, x.shape, x.dtype) * (x.size < 2048)
              for x, k in zip(leaves, keys, strict=True)]  # fmt: skip
    return policy, jax.tree.unflatten(tree, jitter)


def tokens(seed=0, high=512):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, high, (B, L), dtype=np.int32),
        LENGTH,
        rng.integers(0, high, (B, G, T), dtype=np.int32),
    )


def loss_of(hidden, seed=5):
    """A loss that weights every hidden number differently."""
    weight = np.random.default_rng(seed).normal(size=hidden.shape)
    return jnp.sum(hidden * weight.astype(np.float32)) / hidden.shape[-1]


def relative(found, wanted):
    found, wanted = ravel_pytree(found)[0], ravel_pytree(wanted)[0]
    return float(jnp.linalg.norm(found - wanted) / jnp.linalg.norm(wanted))


@pytest.mark.parametrize("case", QUICK + LONG)
def test_group_structured_forward_and_gradient_equal_flat_ones(case):
    policy, params = setup(case)
    batch = tokens()

    def group(params):
        hidden = policy.forward_groups(params, *batch)
        return loss_of(hidden), hidden

    def plain(params):
        hidden = flat.forward_groups(params, policy.config, *batch)
        return loss_of(hidden), hidden

    (_, found), gradient = jax.jit(jax.value_and_grad(group, has_aux=True))(params)
    (_, wanted), flat_gradient = jax.jit(jax.value_and_grad(plain, has_aux=True))(
        params
    )
    assert found.shape == (B, G, T, policy.config.width)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    assert relative(gradient, flat_gradient) < 1e-5


PREFIX = (17, 3, 400, 17, 8)


def with_prefix(prompt_BL):
    return np.concatenate(
        [np.tile(np.int32(PREFIX), (len(prompt_BL), 1)), prompt_BL], 1
    )


@pytest.mark.parametrize("case", ["wide llama", LONG[1]])
def test_a_shared_prefix_equals_prompts_that_hold_it(case):
    whole, params = setup(case)
    policy, _ = setup(case, prefix=PREFIX)
    prompt, length, completion = tokens()

    def gradient(policy, *batch):
        def loss(params):
            hidden = policy.forward_groups(params, *batch)
            return loss_of(hidden), hidden

        return jax.jit(jax.grad(loss, has_aux=True))(params)

    found, hidden = gradient(policy, prompt, length, completion)
    length = len(PREFIX) + length
    wanted, whole_hidden = gradient(whole, with_prefix(prompt), length, completion)
    np.testing.assert_allclose(hidden, whole_hidden, rtol=0, atol=1e-5)
    assert relative(found, wanted) < 1e-5


@pytest.mark.parametrize("prefix", [(), PREFIX])
@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("case", ["qwen2", "wide llama"])
def test_cached_decode_equals_the_full_forward(case, unroll, prefix):
    whole, params = setup(case)
    policy, _ = setup(case, unroll_decode=unroll, prefix=prefix)
    prompt, length, completion = tokens()
    before = with_prefix(prompt) if prefix else prompt
    forward = jax.jit(whole.forward_groups)
    wanted = forward(params, before, len(prefix) + length, completion)
    cache = policy.init_cache(B, G, L + 3, T)  # a cache may be longer than its prompt
    hidden, cache = jax.jit(policy.prefill)(params, prompt, length, cache)
    for g in range(G):
        np.testing.assert_allclose(hidden, wanted[:, g, 0], rtol=0, atol=1e-5)
    decode = jax.jit(policy.decode)
    params, cache = policy.decode_layout(params, cache)
    for t in range(T - 1):
        hidden, cache = decode(params, completion[:, :, t], jnp.int32(t), cache)
        np.testing.assert_allclose(hidden, wanted[:, :, t + 1], rtol=0, atol=1e-5)


def test_only_the_past_of_the_same_completion_and_its_prompt_have_gradient():
    policy, params = setup("qwen2")  # untied: the embedding is read as input only
    prompt = np.arange(B * L, dtype=np.int32).reshape(B, L)
    completion = 100 + np.arange(B * G * T, dtype=np.int32).reshape(B, G, T)

    @jax.jit
    def seen(b, g, t):
        def one(embedding):
            changed = {**params, "embedding": embedding}
            hidden = policy.forward_groups(changed, prompt, LENGTH, completion)
            return jnp.sum(hidden[b, g, t] * jnp.arange(hidden.shape[-1]))

        return jnp.abs(jax.grad(one)(params["embedding"])).sum(-1) > 0

    for b, g, t in [(0, 0, 0), (1, 0, 0), (1, 2, 1), (0, 1, T - 1), (1, 2, 4)]:
        wanted = {*prompt[b, : LENGTH[b]], *completion[b, g, :t]}
        assert set(np.flatnonzero(seen(b, g, t))) == wanted


def test_padding_of_prompts_and_completions_changes_nothing():
    policy, params = setup("wide llama")
    forward = jax.jit(policy.forward_groups)
    prompt, length, completion = tokens()
    wanted = forward(params, prompt, length, completion)
    other, _, tail = tokens(seed=1)
    changed = np.where(np.arange(L) < length[:, None], prompt, other)
    np.testing.assert_array_equal(forward(params, changed, length, completion), wanted)
    real = 4  # tokens of every completion; the rest is padding
    changed = np.where(np.arange(T) < real, completion, tail)
    found = forward(params, prompt, length, changed)[:, :, : real + 1]
    np.testing.assert_array_equal(found, wanted[:, :, : real + 1])
    longer = np.pad(prompt, ((0, 0), (0, 4)), constant_values=3)
    found = forward(params, longer, length, completion)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@functools.cache
def hidden_and_gradient(case, **options):
    policy, params = setup(case, **options)

    def one(params):
        hidden = policy.forward_groups(params, *tokens())
        return loss_of(hidden), hidden

    (_, hidden), gradient = jax.jit(jax.value_and_grad(one, has_aux=True))(params)
    return hidden, gradient


@pytest.mark.parametrize("case", ["wide llama", LONG[1]])
def test_recomputing_layers_changes_no_gradient(case):
    _, wanted = hidden_and_gradient(case)
    _, found = hidden_and_gradient(case, remat=False)
    assert relative(found, wanted) < 1e-6


@pytest.mark.parametrize("block", [4, pytest.param(13, marks=pytest.mark.slow)])
def test_attention_in_blocks_changes_no_gradient(block):
    # 4 splits a prompt (9) and a completion (6) unevenly, 13 takes 2 completions or 1
    wanted_hidden, wanted = hidden_and_gradient("qwen2")
    hidden, found = hidden_and_gradient("qwen2", attention_block=block)
    assert relative(found, wanted) < 1e-6
    np.testing.assert_allclose(hidden, wanted_hidden, rtol=0, atol=1e-5)


def test_scores_of_a_long_row_never_exceed_a_block():
    policy, params = setup("llama", attention_block=32)
    prompt = jnp.zeros((1, 256), jnp.int32)
    completion = jnp.zeros((1, 4, 257), jnp.int32)

    def one(params):
        length = jnp.array([256])
        return policy.forward_groups(params, prompt, length, completion).sum()

    text = jax.jit(jax.grad(one)).lower(params).as_text()
    heads = policy.config.heads
    assert f"tensor<1x2x1x{heads // 2}x32x256xf32>" in text  # one block's scores
    assert "x256x256xf32>" not in text


def test_one_new_token_needs_no_completion_input():
    policy, params = setup("llama")
    prompt, length, completion = tokens()
    forward = jax.jit(policy.forward_groups)
    found = forward(params, prompt, length, completion[:, :, :1])
    wanted = forward(params, prompt, length, completion)
    assert found.shape == (B, G, 1, policy.config.width)
    np.testing.assert_allclose(found, wanted[:, :, :1], rtol=0, atol=1e-5)


def test_bfloat16_computes_in_bfloat16_and_gives_float32_logits():
    policy, params = setup("llama", dtype="bfloat16")
    exact, _ = setup("llama")
    assert {str(x.dtype) for x in jax.tree.leaves(params)} == {"float32"}
    hidden = jax.jit(policy.forward_groups)(params, *tokens())
    assert hidden.dtype == jnp.bfloat16
    logits = policy.unembed(params, hidden)
    assert logits.dtype == jnp.float32
    wanted = exact.unembed(params, jax.jit(exact.forward_groups)(params, *tokens()))
    assert 1e-4 < float(jnp.abs(logits - wanted).max()) < 0.05


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
