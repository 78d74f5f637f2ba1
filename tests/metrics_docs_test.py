"""Every metric that a step can make is in docs/metrics.md."""

import re

import jax.numpy as jnp
import pytest

from agrae_jax import methods
from agrae_jax.rl import diagnostics
from agrae_jax.types import STOP_EOS
from tests.methods.running import loss_of
from tests.rl.contexts import advantage_input, token_context
from tests.source_tree import ROOT

SOURCES = ("update", "refill", "feed", "reporting")


def documented():
    """Names in the first column, with BIN, C and LEVEL for what varies."""
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", text, flags=re.M)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def general(name):
    head, slash, tail = name.partition("/")
    if not slash:
        return head
    bins = {bin_name for bin_name, _, _ in diagnostics.BINS}
    return f"{head}/{'BIN' if tail in bins else 'C' if tail.isdigit() else 'LEVEL'}"


def made():
    """Names of the metrics of pure functions, and of each method's surrogate."""
    inputs = advantage_input([[1, 0]])
    one = jnp.ones((1, 2, 3))
    stop = jnp.full((1, 2), STOP_EOS)
    ctx = token_context(-one)
    names = set(diagnostics.diagnostics(inputs, one[..., 0], stop))
    names |= set(diagnostics.rollout_diagnostics(inputs, one, -one, one, one))
    names |= set(diagnostics.token_diagnostics(ctx))
    names |= set(diagnostics.logprob_gain(one, one, one, one[..., 0]))
    simple = [n for n in methods.names() if not methods.resolve(n).regularizers]
    for name in simple:
        method = methods.resolve(name)
        if method.token_mask is None:
            names |= set(loss_of(name, -one, one)[1])
    return {general(name) for name in names}


def test_every_metric_is_documented():
    missing = made() - documented()
    # Some rows are in the text under the tables, by name.
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert not {name for name in missing if f"`{name}`" not in text}


def test_nothing_is_documented_that_is_not_made():
    literal = "".join(
        (ROOT / "agrae_jax" / f"{name}.py").read_text() for name in SOURCES
    )
    literal += (ROOT / "agrae_jax" / "grader.py").read_text()
    literal += (ROOT / "agrae_jax" / "rl" / "regularizers.py").read_text()
    literal += (ROOT / "agrae_jax" / "rl" / "surrogates.py").read_text()
    known = made()
    for name in documented() - known - {"time/..."}:
        assert f'"{name}"' in literal or f'f"{name.partition("/")[0]}/' in literal, name


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
