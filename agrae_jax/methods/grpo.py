"""GRPO, group relative policy optimisation (DeepSeekMath, 2402.03300).

    A    = (r - mean) / (std + eps)                    in each group
    loss = max(-A ratio, -A clip(ratio, 1 - low, 1 + high)) + kl_coef * KL

averaged over the tokens of a completion, then over completions. The paper leaves the
kind of standard deviation open; A-GRAE's appendix takes the population's (ddof 0),
verl and tunix the sample's (ddof 1). The paper has no dual clip and kl_coef 0.04;
today's recipes use no KL, verl adds dual_clip 3 and averages over all tokens.

Every other file here starts from this record and replaces what differs.
"""

from __future__ import annotations

from functools import partial

from agrae_jax.methods import check_dual_clip, choose
from agrae_jax.rl import advantages, credit, regularizers, rewards, surrogates
from agrae_jax.rl.reductions import REDUCTIONS
from agrae_jax.types import Method, RegularizerFn, Schedule


def make(
    *,
    ddof: int = 0,
    eps: float = 1e-6,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float = 0.0,
    kl_coef: float = 0.0,
    kl_kind: str = "k3",
    reduction: str = "sequence_mean",
) -> Method:
    """Returns GRPO. `dual_clip` > 1, or 0 for none; `kl_kind` is k1, k2 or k3."""
    estimator = choose("kl_kind", kl_kind, regularizers.ESTIMATORS)
    kl: RegularizerFn = partial(
        regularizers.kl_penalty, coef=kl_coef, estimator=estimator
    )
    return Method(
        name="grpo",
        paper="DeepSeekMath, arXiv 2402.03300",
        formula="(r - mean) / (std + eps); clip; KL k3",
        reward=rewards.correctness,
        base=partial(advantages.group_normalize, eps=eps),
        shapers=(),
        credit=credit.broadcast,
        token_mask=None,
        surrogate=partial(
            surrogates.ppo_clip,
            low=clip_low,
            high=clip_high,
            dual=check_dual_clip(dual_clip),
        ),
        reduction=choose("reduction", reduction, REDUCTIONS),
        regularizers=(kl,) if kl_coef else (),
        importance=None,
        select=None,
        schedule=Schedule(),
        init_state=tuple,
        update_state=None,
        needs=frozenset({"ref_logprob"} if kl_coef else ()),
        ddof=ddof,
        zero_sum=True,
        dead_groups_zero=True,
    )
