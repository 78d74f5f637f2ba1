"""A-GRAE, asymmetric group relative advantage estimation (2602.05548).

GRPO's advantages hide two symmetries. In a group they sum to zero, so a completion
that was not sampled gets no push at all; and a prompt solved in a share p of samples
gets as much total weight as one solved in 1 - p. A-GRAE breaks both, by the state of
training that the success rate of the whole rollout batch shows:

    omega = mean correctness of the batch                                   (11)

    sample level:  A <- A * [ omega / (2 sqrt(p))                           (12)
                              + (1 - omega) / (2 sqrt(1 - p)) ]     0 < p < 1
    group level:   A <- A * min(1, omega / alpha)     where A > 0           (13)

A weak policy learns from easy prompts and hardly reinforces what it already found,
which leaves room to explore; a strong one learns from hard prompts, both signs whole.

The authors' released code divides the easy term by 1 - sqrt(p) instead
(`easy="one_minus_sqrt"`) and takes the sample deviation (`ddof=1`); the default,
`easy="sqrt1mp"`, is the paper's square root of 1 - p.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import check_positive, choose, resolve
from agrae_jax.rl import shapers
from agrae_jax.types import Method, ShaperFn


def make(
    *,
    base: str = "grpo",
    alpha: float = 1.0,
    sample_level: bool = True,
    group_level: bool = True,
    easy: str = "sqrt1mp",
    ddof: int = 0,
) -> Method:
    """Returns A-GRAE on the advantages of `base`, which is any other method's name.

    `alpha` > 0 is the success rate from which positive advantages are left whole: 1
    for MATH, 0.5 for the paper's other data. Sample level alone stays zero-sum. `ddof`
    replaces the base's own; the base's other keywords keep their defaults.
    """
    check_positive("alpha", alpha)
    if base == "a_grae":
        raise UserError("method.kwargs.base = 'a_grae' would apply both levels twice")
    under = resolve(base)
    levels: list[ShaperFn] = []
    if sample_level:
        levels.append(choose("easy", easy, shapers.DIFFICULTY_SHIFTS))
    if group_level:
        levels.append(partial(shapers.attenuate_positive, alpha=alpha))
    return dataclasses.replace(
        under,
        name="a_grae",
        paper="A-GRAE, arXiv 2602.05548",
        formula="DDAS A (omega / (2 sqrt p) + (1 - omega) / (2 sqrt(1 - p))) (12); ASS "
        "A min(1, omega / alpha) where A > 0 (13)",
        shapers=(*under.shapers, *levels),
        ddof=ddof,
        zero_sum=under.zero_sum and not group_level,
    )
