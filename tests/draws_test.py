"""The draw: exact inverse CDF, exact truncation, noise keyed by (seed, draw, g, t)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.draws import SampleSpec, draw_token, row_keys, truncate, uniform

SPEC = SampleSpec(samples=1, max_new_tokens=1, eos_ids=(0,))


def test_draw_inverts_the_cdf_at_known_points():
    probs = np.array([0.5, 0.0, 0.25, 0.25])
    logits = jnp.log(jnp.asarray(probs, jnp.float32))
    uniform = jnp.array([0.0, 0.4999, 0.5001, 0.7499, 0.7501, 0.9999])
    token, logprob, entropy = draw_token(
        jnp.broadcast_to(logits, (6, 4)), uniform, SPEC
    )
    assert token.tolist() == [0, 0, 2, 2, 3, 3]
    np.testing.assert_allclose(np.exp(logprob), probs[np.asarray(token)], rtol=1e-6)


@pytest.mark.parametrize("vocab", [7, 256, 49152])
def test_draw_equals_numpy_search_in_float64(vocab):
    rng = np.random.default_rng(vocab)
    logits = rng.normal(size=(4, vocab)).astype(np.float32) * 3
    uniform = rng.uniform(size=(500, 4)).astype(np.float32)
    token, logprob, _ = jax.vmap(lambda u: draw_token(jnp.asarray(logits), u, SPEC))(
        jnp.asarray(uniform)
    )
    p = np.exp(logits.astype(np.float64))
    p /= p.sum(-1, keepdims=True)
    cdf = np.cumsum(p, -1)
    token = np.asarray(token)
    upper = np.take_along_axis(cdf[None].repeat(500, 0), token[..., None], -1)[..., 0]
    lower = (
        upper - np.take_along_axis(p[None].repeat(500, 0), token[..., None], -1)[..., 0]
    )
    # The draw's interval holds the number, up to float32 rounding of the running sum.
    assert (uniform < upper + 1e-6).all() and (uniform > lower - 1e-6).all()
    expect = np.log(np.take_along_axis(p[None].repeat(500, 0), token[..., None], -1))
    np.testing.assert_allclose(logprob, expect[..., 0], atol=1e-5)


def test_entropy_is_in_nats_at_the_sampling_temperature():
    logits = jnp.array([[1.0, 0.0, -1.0]])
    for temperature in (1.0, 0.5):
        p = np.exp(np.array([1.0, 0.0, -1.0]) / temperature)
        p /= p.sum()
        spec = SampleSpec(1, 1, (0,), temperature=temperature)
        _, _, entropy = draw_token(logits, jnp.array([0.3]), spec)
        np.testing.assert_allclose(entropy[0], -(p * np.log(p)).sum(), rtol=1e-6)


def test_greedy_takes_the_argmax_with_log_probability_zero():
    spec = SampleSpec(1, 1, (0,), temperature=0.0)
    token, logprob, _ = draw_token(jnp.array([[0.0, 3.0, 1.0]]), jnp.array([0.9]), spec)
    assert token.tolist() == [1] and logprob.tolist() == [0.0]


@pytest.mark.parametrize("top_k", [1, 3, 50, 4000])
def test_top_k_keeps_what_a_sort_keeps(top_k):
    weight = np.random.default_rng(0).exponential(size=(5, 4096)).astype(np.float32)
    kept = np.asarray(truncate(jnp.asarray(weight), top_k=top_k, top_p=1.0))
    for row, out in zip(weight, kept, strict=True):
        level = np.sort(row)[-top_k]
        np.testing.assert_array_equal(out, np.where(row >= level, row, 0))


@pytest.mark.parametrize("top_p", [0.1, 0.5, 0.95])
def test_top_p_keeps_the_smallest_set_that_has_the_mass(top_p):
    rng = np.random.default_rng(1)
    weight = np.exp(rng.normal(size=(5, 1000)) * 2).astype(np.float32)
    kept = np.asarray(truncate(jnp.asarray(weight), top_k=0, top_p=top_p)) > 0
    for row, keep in zip(weight.astype(np.float64), kept, strict=True):
        mass = row[keep].sum() / row.sum()
        without_last = mass - row[keep].min() / row.sum()
        assert mass >= top_p - 1e-6 and without_last < top_p + 1e-6
        assert row[keep].min() > row[~keep].max()


def test_log_probability_is_of_the_truncated_distribution():
    logits = jnp.log(jnp.array([[0.5, 0.3, 0.15, 0.05]]))
    spec = SampleSpec(1, 1, (0,), top_p=0.8)
    token, logprob, _ = draw_token(logits, jnp.array([0.7]), spec)
    assert token.tolist() == [1]
    np.testing.assert_allclose(np.exp(logprob), [0.3 / 0.8], rtol=1e-6)


def test_noise_depends_on_seed_draw_sample_and_token_alone():
    def noise(seed, draws, samples, index):
        keys = row_keys(jnp.int32(seed), jnp.asarray(draws, jnp.int32), samples)
        return np.asarray(uniform(keys, index))

    base = noise(0, [5, 9, 7], 4, 3)
    np.testing.assert_array_equal(noise(0, [7, 5], 4, 3), base[[2, 0]])
    np.testing.assert_array_equal(noise(0, [9], 2, 3), base[[1], :2])
    for other in (noise(1, [5, 9, 7], 4, 3), noise(0, [5, 9, 7], 4, 4)):
        assert not np.isin(other, base).any()
    assert len(np.unique(base)) == base.size


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
