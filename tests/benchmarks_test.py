"""The speed benchmarks: their arithmetic, and one of them in small."""

import argparse
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks import curves, peers, sampler, work


def test_exponent_of_a_power_law():
    assert curves.exponent([1, 2, 4, 8], [3, 12, 48, 192]) == 2.0
    assert curves.exponent([1, 2, 4], [5, 5, 5]) == 0.0


def test_a_hazard_gives_the_end_token_one_in_so_many():
    logits = jnp.asarray([[3.0, 1.0, -2.0, 0.5], [0.0, 9.0, 1.0, 1.0]])
    kind = dataclasses.make_dataclass("Policy", ["unembed"])
    policy = work.with_hazard(kind(lambda params, hidden: logits), 4.0)
    changed = jax.nn.softmax(policy.unembed(None, None))
    np.testing.assert_allclose(changed[:, 0], 0.25, rtol=1e-6)
    # the others keep their odds: 1.0, -2.0 and 0.5 in the first row
    np.testing.assert_allclose(changed[0, 1] / changed[0, 3], np.exp(0.5), rtol=1e-6)


def test_the_sampler_benchmark_counts_its_tokens():
    args = argparse.Namespace(
        model="tiny", vocab_size=128, devices=1, dtype="float32", prompts=2, samples=4,
        prompt_tokens=8, new_tokens=8, repeats=1, lengths="skewed", segment=0, wave=0,
        top_k=0, top_p=1.0,
    )  # fmt: skip
    figures = sampler.measure(args)
    assert 8 <= figures["tokens"] <= 2 * 4 * 8
    assert figures["longest"] <= 8
    rate = figures["tokens"] / figures["seconds"]["median"]
    assert figures["tokens_per_second"] == pytest.approx(rate, rel=0.01)


def test_a_peer_without_its_python_is_one_line():
    args = argparse.Namespace(peer="trl", peer_python="")
    with pytest.raises(SystemExit, match="error: --peer needs --peer_python"):
        peers.step(args)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
