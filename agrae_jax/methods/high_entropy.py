"""The 80/20 rule: only the tokens of highest entropy train (2506.01939).

The policy loss of the other 80 % is multiplied by 0; the denominator stays. With
DAPO's clip and token mean.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from agrae_jax.errors import UserError
from agrae_jax.methods import resolve
from agrae_jax.rl import token_masks
from agrae_jax.types import Method


def make(*, base: str = "dapo", share: float = 0.2) -> Method:
    """Returns `base` on the `share` (0 to 1] of tokens with the highest entropy."""
    if not 0 < share <= 1:
        raise UserError(f"method.kwargs.share = {share} must lie in (0, 1], like 0.2")
    under = resolve(base)
    return dataclasses.replace(
        under,
        name="high_entropy",
        paper="Beyond the 80/20 rule, arXiv 2506.01939",
        formula="loss 0 below the (1 - share) quantile of H",
        token_mask=partial(token_masks.high_entropy, share=share),
        needs=under.needs | {"current_first_pass"},
    )
