"""Sampling in segments: the same samples as the plain way, on fewer and fewer rows."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import sampling, segments
from agrae_jax.draws import SampleSpec
from tests.rollout_test import NARROW, WIDE, assert_same_samples, prompts, world

SPEC = SampleSpec(samples=4, max_new_tokens=23, eos_ids=tuple(range(0, 45)))


def every(segment):
    return dataclasses.replace(SPEC, segment=segment)


@pytest.fixture(
    scope="module",
    params=[NARROW, pytest.param(WIDE, marks=pytest.mark.slow)],
    ids=["narrow", "wide"],
)
def plain(request):
    policy, params = world(request.param)
    batch = prompts()
    sampler = sampling.make_sampler(policy, SPEC)
    return policy, params, batch, sampler(params, batch, jnp.int32(3))


@pytest.mark.parametrize(
    "segment", [pytest.param(1, marks=pytest.mark.slow), 4, 23, 100]
)
def test_segments_give_the_same_samples(plain, segment):
    policy, params, batch, whole = plain
    sampler = segments.SegmentSampler(policy, every(segment))
    parts = sampler(params, batch, jnp.int32(3))
    assert_same_samples(policy, params, batch, whole, parts)
    same = (np.asarray(whole.completion_BGT) == np.asarray(parts.completion_BGT)).all(
        -1
    )
    assert same.mean() > 0.9
    for name in ("length_BG", "stop_BG"):
        one, other = (np.asarray(getattr(x, name)) for x in (whole, parts))
        np.testing.assert_array_equal(one[same], other[same])
    for name in ("logprob_BGT", "entropy_BGT"):
        one, other = (np.asarray(getattr(x, name)) for x in (whole, parts))
        np.testing.assert_allclose(one[same], other[same], rtol=0, atol=1e-5)


def test_rows_that_ended_leave_and_shapes_are_a_closed_set(plain):
    policy, params, batch, _ = plain
    sampler = segments.SegmentSampler(policy, every(2))
    shapes = []
    decode = sampler._decode

    def spy(params, weights, shared, rows, limit):
        rows_out = decode(params, weights, shared, rows, limit)
        shapes.append(rows["done"].shape)
        return rows_out

    sampler._decode = spy
    sampler(params, batch, jnp.int32(3))
    assert shapes[0] == (6, 4) and np.prod(shapes[-1]) <= 6
    assert {b for b, _ in shapes} <= {6, 3, 2, 1}
    assert {g for _, g in shapes} <= {4, 2, 1}
    assert all(a >= b for (a, _), (b, _) in itertools.pairwise(shapes))
    assert all(a >= b for (_, a), (_, b) in itertools.pairwise(shapes))


def test_a_second_wave_compiles_only_new_shapes(plain):
    policy, params, batch, _ = plain
    sampler = segments.SegmentSampler(policy, every(4))
    sampler(params, batch, jnp.int32(3))
    first = sampler.compiles()
    sampler(params, batch, jnp.int32(3))
    assert sampler.compiles() == first


@pytest.mark.parametrize(
    ("size", "needed", "multiple", "wanted"),
    [
        (8, 5, 1, 8),
        (8, 4, 1, 4),
        (8, 1, 1, 1),
        (29, 14, 1, 15),
        (6, 1, 1, 1),
        (16, 3, 4, 4),
        (16, 1, 16, 16),
        (24, 5, 8, 8),
    ],
)
def test_halved(size, needed, multiple, wanted):
    assert segments._halved(size, needed, multiple) == wanted


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
