"""Rollouts: lengths and stops, agreement with the scorer, waves and companions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import draws, models, sampling, scoring
from agrae_jax.types import STOP_EOS, STOP_LENGTH, PromptBatch

OPTIONS = {
    "dtype": "float32",
    "param_dtype": "float32",
    "remat": False,
    "attention_block": 1024,
}
NARROW = {"vocab_size": 300}
WIDE = {  # rows of a matmul differ by rounding with the batch only when it is wide
    "vocab_size": 300,
    "hidden_size": 576,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
}
MARGIN = 1e-5  # of a uniform number to the edge of its token's interval


def world(kwargs):
    policy = models.random("llama", kwargs, **OPTIONS)
    return policy, policy.init(jax.random.key(1))


def prompts(b=6, length=12, seed=0):
    rng = np.random.default_rng(seed)
    return PromptBatch(
        tokens_BL=jnp.asarray(rng.integers(1, 300, (b, length)), jnp.int32),
        length_B=jnp.asarray(rng.integers(3, length + 1, b), jnp.int32),
        draw_B=jnp.asarray(rng.permutation(1000)[:b], jnp.int32),
        prompt_id_B=jnp.arange(b, dtype=jnp.int32),
    )


def take(batch, rows):
    return jax.tree.map(lambda x: x[rows], batch)


SPEC = sampling.SampleSpec(samples=4, max_new_tokens=10, eos_ids=tuple(range(0, 30)))


@pytest.fixture(scope="module", params=["narrow", "wide"])
def rolled(request):
    policy, params = world(NARROW if request.param == "narrow" else WIDE)
    sampler = sampling.make_sampler(policy, SPEC)
    batch = prompts()
    return policy, params, sampler, batch, sampler(params, batch, jnp.int32(3))


def test_the_end_token_is_the_last_of_the_completion(rolled):
    *_, rollout = rolled
    completion = np.asarray(rollout.completion_BGT)
    seen = set()
    for row, n, stop in zip(
        completion.reshape(-1, 10),
        np.asarray(rollout.length_BG).reshape(-1),
        np.asarray(rollout.stop_BG).reshape(-1),
        strict=True,
    ):
        ends = np.flatnonzero(row[:n] < 30)
        if stop == STOP_EOS:
            assert ends.tolist() == [n - 1]
        else:
            assert stop == STOP_LENGTH and n == 10 and not ends.size
        assert (row[n:] == 0).all()
        seen.add(int(stop))
    assert seen == {STOP_EOS, STOP_LENGTH}


def test_sampler_and_scorer_agree_on_the_sampled_tokens(rolled):
    policy, params, _, batch, rollout = rolled
    logprob, entropy = scoring.score(
        params,
        batch,
        rollout.completion_BGT,
        policy=policy,
        temperature=1.0,
        chunk=64,
    )
    mask = np.asarray(scoring.length_mask(rollout.length_BG, 10)) > 0
    for ours, theirs in (
        (logprob, rollout.logprob_BGT),
        (entropy, rollout.entropy_BGT),
    ):
        np.testing.assert_allclose(ours[mask], theirs[mask], rtol=0, atol=1e-5)
    assert (np.asarray(rollout.logprob_BGT)[~mask] == 0).all()


def assert_same_samples(policy, params, batch, one, other):
    """The same tokens, or at the first difference a draw on the edge of two tokens."""
    a, b = np.asarray(one.completion_BGT), np.asarray(other.completion_BGT)
    for p, g in zip(*np.nonzero((a != b).any(-1)), strict=True):
        t = int(np.flatnonzero(a[p, g] != b[p, g])[0])
        hidden = policy.forward_groups(
            params, batch.tokens_BL[p : p + 1], batch.length_B[p : p + 1], a[p][None]
        )
        logits = policy.unembed(params, hidden[0, g, t]).astype(jnp.float64)
        edges = np.cumsum(np.asarray(jax.nn.softmax(logits)))
        key = draws.row_keys(jnp.int32(3), batch.draw_B[p : p + 1], 4)
        uniform = float(draws.uniform(key, t)[0, g])
        assert np.abs(edges - uniform).min() < MARGIN, (p, g, t)


@pytest.mark.parametrize("wave", [1, 2, 3])
def test_waves_give_the_same_samples(rolled, wave):
    policy, params, sampler, batch, whole = rolled
    parts = sampling.sample(params, batch, jnp.int32(3), wave=wave, sampler=sampler)
    assert_same_samples(policy, params, batch, whole, parts)


def test_companions_in_the_batch_do_not_matter(rolled):
    policy, params, sampler, batch, whole = rolled
    rows = np.array([4, 0, 2])
    few = sampler(params, take(batch, rows), jnp.int32(3))
    assert_same_samples(policy, params, take(batch, rows), take(whole, rows), few)


def test_another_draw_of_the_same_prompt_gets_other_noise(rolled):
    policy, params, sampler, batch, whole = rolled
    import dataclasses

    again = dataclasses.replace(batch, draw_B=batch.draw_B + 5000)
    other = sampler(params, again, jnp.int32(3))
    differ = (np.asarray(other.completion_BGT) != np.asarray(whole.completion_BGT)).any(
        -1
    )
    assert differ.mean() > 0.8


def test_greedy_samples_of_a_group_are_equal(rolled):
    policy, params, _, batch, _ = rolled
    spec = sampling.SampleSpec(3, 6, (299,), temperature=0.0)
    rollout = sampling.make_sampler(policy, spec)(params, batch, jnp.int32(0))
    completion = np.asarray(rollout.completion_BGT)
    assert (completion == completion[:, :1]).all()


def test_chunks_of_the_score_do_not_matter(rolled):
    policy, params, _, batch, rollout = rolled

    def loss(params, chunk):
        logprob, entropy = scoring.score(
            params,
            batch,
            rollout.completion_BGT,
            policy=policy,
            temperature=0.7,
            chunk=chunk,
            entropy_gradient=True,
        )
        return (logprob * 0.3 + entropy * 0.1).sum()

    whole, gradient = jax.value_and_grad(loss)(params, 10_000)
    norm = np.sqrt(sum(float((x**2).sum()) for x in jax.tree.leaves(gradient)))
    for chunk in (1, 72):  # one token a row at a time, and a ragged last chunk
        value, other = jax.value_and_grad(loss)(params, chunk)
        np.testing.assert_allclose(value, whole, rtol=1e-5)
        apart = jax.tree.map(lambda x, y: float(((x - y) ** 2).sum()), gradient, other)
        bound = 1e-6 if policy.config.width <= 256 else 1e-5
        assert np.sqrt(sum(jax.tree.leaves(apart))) <= bound * norm


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
