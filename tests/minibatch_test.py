"""What token-level parts of a method see of an optimizer batch."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.minibatch import token_context
from agrae_jax.types import GroupStats, PromptBatch, TokenContext, TrainBatch

SHAPES = {"B": (2,), "BG": (2, 3), "BGT": (2, 3, 4), "BL": (2, 5)}


def filled(kind, first=1.0):
    """Every array of a record holds a number of its own."""
    fields = [f.name for f in dataclasses.fields(kind)]
    return {
        name: jnp.full(SHAPES.get(name.rpartition("_")[2], ()), first + i)
        for i, name in enumerate(fields)
    }


def test_every_array_that_both_hold_is_handed_on():
    """A field that is not handed on reads as None, and its method cannot run."""
    arrays = filled(TrainBatch, 10.0)
    arrays["prompts"] = PromptBatch(**filled(PromptBatch))
    arrays["stats"] = GroupStats(**filled(GroupStats))
    batch = TrainBatch(**arrays)
    ctx = token_context(batch, arrays["mask_BGT"], arrays["mask_BGT"])
    shared = {f.name for f in dataclasses.fields(TokenContext)} & set(arrays)
    assert {"selected_BGT", "statistic_BGT", "ref_logprob_BGT"} <= shared
    for name in shared - {"stats"}:
        np.testing.assert_array_equal(getattr(ctx, name), arrays[name], err_msg=name)
    assert ctx.stats is batch.stats


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
