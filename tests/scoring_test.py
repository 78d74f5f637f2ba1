"""The score's cost: a prompt is computed once per group, logits never in full."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import models, scoring, sharding
from agrae_jax.types import PromptBatch

# SmolLM2-135M's shapes; the quickstart's groups.
SHAPES = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
}
B, G, L, T = 8, 8, 136, 28


def policy_and_params():
    policy = models.random(
        "llama",
        SHAPES,
        dtype="float32",
        param_dtype="float32",
        remat=True,
        attention_block=1024,
    )
    return policy, jax.eval_shape(policy.init, jax.random.key(0))


def flops(b, g):
    """Operations of one forward as the compiler counts them: one layer of a scan."""
    policy, params = policy_and_params()
    integer = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.int32)
    lowered = jax.jit(policy.forward_groups).lower(
        params, integer((b, L)), integer((b,)), integer((b, g, T))
    )
    return lowered.cost_analysis()["flops"]


def test_the_prompt_of_a_group_is_computed_once():
    """8 groups of 8 against the same 64 completions, each with its own prompt."""
    ratio = flops(B, G) / flops(B * G, 1)
    tokens = B * (L + G * (T - 1)) / (B * G * (L + T - 1))
    assert tokens == pytest.approx(0.27, abs=0.001)
    # Attention costs a little apart from the tokens.
    assert ratio == pytest.approx(tokens, rel=0.1)


def test_no_array_of_all_logits_is_ever_made():
    policy, params = policy_and_params()
    integer = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.int32)
    chunk = 256
    prompts = PromptBatch(integer((B, L)), integer((B,)), integer((B,)), integer((B,)))

    def loss(params, prompts, completion):
        logprob, entropy = scoring.score(
            params,
            prompts,
            completion,
            policy=policy,
            temperature=1.0,
            chunk=chunk,
            entropy_gradient=True,
        )
        return (logprob + entropy).sum()

    jaxpr = jax.make_jaxpr(jax.grad(loss))(params, prompts, integer((B, G, T)))
    of_logits = [
        size
        for size, shape in sizes(jaxpr.jaxpr)
        if 49152 in shape and 576 not in shape
    ]
    largest = max(of_logits)
    assert largest == chunk * 49152
    assert B * G * T > 4 * chunk


def sizes(jaxpr):
    """(size, shape) of everything a program makes, inner programs included."""
    for equation in jaxpr.eqns:
        for variable in equation.outvars:
            shape = getattr(variable.aval, "shape", ())
            yield getattr(variable.aval, "size", 0), shape
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from sizes(inner)


@pytest.mark.parametrize("parts", [2, 4])
def test_parts_of_a_batch_are_scored_like_the_whole_in_its_order(parts):
    policy = models.random("qwen2", {"hidden_size": 576, "num_attention_heads": 9,
                                     "num_key_value_heads": 3})  # fmt: skip
    params = policy.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    length = np.array([6, 1, 4, 5], np.int32)
    tokens = rng.integers(0, 512, (4, 6), dtype=np.int32)
    completion = rng.integers(0, 512, (4, 2, 5), dtype=np.int32)
    prompts = PromptBatch(tokens, length, np.arange(4), np.arange(4))
    options = {"policy": policy, "temperature": 0.7, "chunk": 64}
    whole = scoring.score(params, prompts, completion, **options)
    found = scoring.score_in_parts(params, prompts, completion, parts=parts, **options)
    for a, b in zip(found, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)


def test_chunks_are_counted_on_one_device():
    """16 rows of 16 tokens, 32 logit rows at once: of all, or of a device's 2 rows."""
    policy = models.random("llama", {})
    params = jax.eval_shape(policy.init, jax.random.key(0))
    hidden = jax.ShapeDtypeStruct((8, 2, 16, 64), jnp.float32)
    token = jax.ShapeDtypeStruct((8, 2, 16), jnp.int32)
    scored = functools.partial(
        scoring.token_logprobs, policy=policy, temperature=1.0, chunk=32
    )

    def loops():
        jaxpr = jax.make_jaxpr(lambda *x: scored(*x))(params, hidden, token)
        return [e.params["length"] for e in jaxpr.eqns if e.primitive.name == "scan"]

    assert loops() == [8]
    with jax.set_mesh(sharding.make_mesh(8, 1)):
        assert loops() == []
    with jax.set_mesh(sharding.make_mesh(2, 4)):
        assert loops() == [4]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
