"""Experimental: EP-GRPO, entropy-gated credit and progress, as described (2605.04960).

    A_t = gate_scale W_t A + weight P_t
    W_t = sigmoid(gamma (H_t - mean H) / std H)          over the group's tokens
    P_t = sign (log pi_old - log pi_ref), standardised inside ten buckets of progress,
          a token's progress being its share of the completion's summed entropy

The sign is that of A, or in a group of equal rewards that of r - threshold, so that
such groups teach too. The paper's constants and the scope of its statistics were not
found: those here are ours. W is about 1/2, so `gate_scale` 2 restores GRPO's size.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.methods import grpo
from agrae_jax.rl import credit
from agrae_jax.types import Method


def make(
    *,
    gamma: float = 1.0,
    gate_scale: float = 1.0,
    weight: float = 0.1,
    threshold: float = 0.5,
    buckets: int = 10,
) -> Method:
    """Returns GRPO with this credit; `weight` 0 leaves the gate alone."""
    gated = partial(
        credit.entropy_progress,
        gamma=gamma,
        gate_scale=gate_scale,
        weight=weight,
        threshold=threshold,
        buckets=buckets,
    )
    return dataclasses.replace(
        grpo.make(),
        name="ep_grpo_like",
        paper="after EP-GRPO, arXiv 2605.04960",
        formula="gate(H) A + weight * progress (18 to 25)",
        credit=gated,
        needs=frozenset({"old_entropy", "old_logprob", "ref_logprob"}),
        status="experimental",
    )
