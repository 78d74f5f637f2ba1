"""Dimension key, the pytrees that travel through a step, `Policy` and `Method`.

Dimension key, used as suffixes of array names everywhere:

    B prompts (groups)      G samples per prompt     L prompt length
    T completion length     V vocabulary             D width
    K layers                H heads                  C chunk

There is no flat batch of sequences. A group is an array axis from sampling to
loss, and mini-batches and micro-batches split B, so groups stay whole by
construction. Masks come from lengths, never from token values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
from jax import Array

Params = dict[str, Any]  # nested plain dicts of arrays; no flax type in it
Sum = tuple[Array, Array]  # (total, count); divided only when written
Metrics = dict[str, Sum]

# Why a completion ended. `STOP_NONE` marks a row that sampled nothing.
STOP_NONE, STOP_EOS, STOP_LENGTH = 0, 1, 2


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PromptBatch:
    """Prompts of one rollout batch, each held once for its whole group."""

    tokens_BL: Array  # int32, right-padded
    length_B: Array  # int32, number of real tokens, >= 1
    draw_B: Array  # int32, position in the data stream: unique; decides the noise
    prompt_id_B: Array  # int32, index of the problem; answers stay on the host


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Rollout:
    """Prompts and their sampled completions.

    `logprob_BGT` is the log-probability of each sampled token under the *actual*
    sampling distribution (after temperature, top-k and top-p). The end token
    belongs to the completion: it is counted in `length_BG`.
    """

    prompts: PromptBatch
    completion_BGT: Array  # int32, anything after length is padding
    length_BG: Array  # int32
    stop_BG: Array  # int32, STOP_*
    logprob_BGT: Array  # float32, 0 at padding
    entropy_BGT: Array  # float32, nats, at the sampling temperature, before truncation


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Graded:
    """The verifier's word on every completion."""

    correct_BG: Array  # float32 in {0, 1}; 0 where not valid
    format_ok_BG: Array  # float32 in {0, 1}; an answer could be extracted
    valid_BG: Array  # float32 in {0, 1}; 0 = ungradable, the third outcome


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class GroupStats:
    """Statistics of whole groups, over valid samples, in float32.

    `mean_B`, `std_B`, `degenerate_B` describe rewards. `p_B`, `count_B` describe
    correctness, whatever the reward. `omega` is the mean correctness of the whole
    rollout batch, before any filtering (A-GRAE eq. 11).
    """

    mean_B: Array
    std_B: Array  # ddof is the method's
    degenerate_B: Array  # bool: all valid rewards equal (max == min), or < 2 of them
    p_B: Array  # success rate, 0 if nothing valid
    count_B: Array  # number of correct samples
    valid_B: Array  # number of valid samples
    omega: Array  # scalar


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TokenContext:
    """What every token-level part of a method may see. float32 throughout.

    `logprob` carries the gradient; all else is data. `old_logprob` is the policy at
    the start of the step; `sampler_logprob` what the sampler reported. `weight` is
    the reduction: `sum(weight * loss)` is the reduced loss.
    """

    mask_BGT: Array  # 1 on completion tokens, the end token included
    weight_BGT: Array  # the reduction, summed over the whole optimizer batch
    logprob_BGT: Array
    old_logprob_BGT: Array
    sampler_logprob_BGT: Array
    ref_logprob_BGT: Array | None
    entropy_BGT: Array | None  # of the current policy, with gradient, in nats
    old_entropy_BGT: Array | None  # of the policy at the start of the step
    length_BG: Array
    stop_BG: Array
    correct_BG: Array
    valid_BG: Array
    reward_BG: Array
    stats: GroupStats
    selected_BGT: Array | None = None  # what `token_select` chose
    statistic_BGT: Array | None = None  # `token_statistic` at the start of the step


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TrainBatch:
    """One optimizer batch: what `update` needs, with every denominator fixed.

    `advantage_BGT` is after shapers and credit; `weight_BGT` is the reduction over
    this whole optimizer batch, so micro-batches are plain sums. `keep_BGT` is the
    method's token mask (1 where it has none): it multiplies the loss and never
    changes a denominator.
    """

    prompts: PromptBatch
    completion_BGT: Array
    length_BG: Array
    stop_BG: Array
    mask_BGT: Array
    weight_BGT: Array
    keep_BGT: Array
    advantage_BG: Array
    advantage_BGT: Array
    old_logprob_BGT: Array | None  # None: exactly on-policy, see `update`
    sampler_logprob_BGT: Array
    ref_logprob_BGT: Array | None
    old_entropy_BGT: Array | None
    correct_BG: Array
    valid_BG: Array
    reward_BG: Array
    stats: GroupStats
    selected_BGT: Array | None = None
    statistic_BGT: Array | None = None


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TrainState:
    """Everything that a step changes. Plain pytrees, so any checkpoint can hold it."""

    step: Array  # int32 scalar, rollout steps done
    params: Params
    opt_state: Any
    method_state: Any  # `()` where the method keeps none


@dataclasses.dataclass(frozen=True)
class Policy:
    """A language model as functions plus static facts. Built in `models/policy.py`.

    forward_groups  computes each prompt once and its G completions against it;
                    `hidden[b, g, t]` predicts completion token t (t = 0 comes from
                    the last real prompt position and is shared by the group).
    prefill         fills the prompt part of a cache; returns the hidden state of
                    the last real prompt position.
    decode_layout   parameters and filled cache as `decode` wants them, once a wave.
    decode          takes completion token number `index` of every row, writes its
                    keys and values, returns the hidden state that predicts token
                    `index + 1`.
    unembed         hidden to float32 logits; only ever called on chunks.
    """

    name: str
    config: Any  # the family's frozen config
    vocab_size: int
    prefix: tuple[int, ...]  # P tokens before every prompt, which are given without
    init: Callable[[Array], Params]
    forward_groups: Callable[[Params, Array, Array, Array], Array]
    # (params, tokens_BL, length_B, completion_BGT) -> hidden_BGTD
    init_cache: Callable[[int, int, int, int], Any]
    # (B, G, L, T) -> cache pytree; a prompt part [K, B, P + L, ..] and a completion
    # part [K, B, G, T, ..]
    resize_cache: Callable[[Any, Array, Array, int], Any]
    # (cache, group_N, sample_NH, T) -> cache of those groups, and of those samples of
    # each, with room for T tokens; before or after decode_layout
    prefill: Callable[[Params, Array, Array, Any], tuple[Array, Any]]
    # (params, tokens_BL, length_B, cache) -> (hidden_BD, cache)
    decode_layout: Callable[[Params, Any], tuple[Params, Any]]
    decode: Callable[[Params, Array, Array, Any], tuple[Array, Any]]
    # (params, token_BG, index (), cache) -> (hidden_BGD, cache)
    unembed: Callable[[Params, Array], Array]
    # (params, hidden_..D) -> logits_..V float32
    param_axes: Any  # ordered (path regex, logical axes) table
    rules: Mapping[
        str, Mapping[str, Any]
    ]  # {"train": logical -> mesh axis, "sample": ..}


# --- What a method is made of. Each slot is a plain function of arrays. ------------


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class RewardInput:
    """What a reward may see of a completion."""

    correct_BG: Array
    format_ok_BG: Array
    valid_BG: Array
    length_BG: Array
    stop_BG: Array
    ref_gap_BGT: Array | None = None  # log pi_old - log pi_ref, 0 at padding


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class AdvantageInput:
    """What a base advantage may see."""

    reward_BG: Array
    correct_BG: Array
    valid_BG: Array
    length_BG: Array
    stats: GroupStats
    greedy_reward_B: Array | None = None  # of one greedy completion of each prompt


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Beside:
    """What a step knows beside its rollout batch; None where no part asks for it."""

    greedy: RewardInput | None = None  # of one greedy completion of each prompt
    omega: Array | None = None  # of all that was sampled, where some was left out


RewardFn = Callable[[RewardInput], Array]  # -> reward_BG
BaseFn = Callable[[AdvantageInput], Array]  # -> advantage_BG
ShaperFn = Callable[[Array, AdvantageInput], Array]  # advantage_BG -> advantage_BG
CreditFn = Callable[[Array, TokenContext], Array]  # advantage_BG -> advantage_BGT
TokenMaskFn = Callable[[TokenContext, Array], Array]  # (ctx, advantage_BGT) -> keep_BGT
SurrogateFn = Callable[[TokenContext, Array], tuple[Array, Metrics]]
# (ctx, advantage_BGT) -> (loss_BGT before mask and weight, metrics)
ReductionFn = Callable[[Array, int], Array]  # (mask_BGT, token budget) -> weight_BGT
RegularizerFn = Callable[[TokenContext, Any], tuple[Array, Metrics]]
# (ctx, method_state) -> (term_BGT added to the loss before mask and weight, metrics)
ImportanceFn = Callable[
    [TokenContext], Array
]  # -> weight_BGT, multiplies the surrogate
SelectFn = Callable[[Any, RewardInput], Array]
# (method_state, inputs) -> train_BG (or [B, 1]) in {0, 1}: which completions enter
# the loss and its denominators; statistics and omega are over all of them
UpdateStateFn = Callable[[Any, AdvantageInput, Array, Metrics], Any]
# (method_state, inputs, advantage_BG, metrics) -> method_state


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How often one rollout batch is used. None = the config decides."""

    epochs: int | None = None
    mini_batches: int | None = None


@dataclasses.dataclass(frozen=True)
class Curriculum:
    """Which level the next prompts come from: a bandit over levels (SEC).

    Its values are `method_state["curriculum"]`, one an arm; unused arms stay 0.
    """

    arms: int  # most levels that the data may have
    rate: float  # of the moving average, in (0, 1]
    temperature: float  # of the softmax over values, > 0


@dataclasses.dataclass(frozen=True)
class Method:
    """A frozen record of parts. A file in `methods/` is a preset: make(**kw) -> Method.

    `needs` names what must be computed for it and is not by default:
    "token_entropy" (entropy with gradient), "old_entropy" and "old_logprob" (of the
    policy at the start of the step, by the scorer; without the latter, credit reads
    zeros for old log-probs where a rollout is one optimizer step), "ref_logprob",
    "ref_gap" (the reward sees the distance to the reference), "current_first_pass"
    (token_mask and token_select see the current policy over the whole optimizer
    batch), "greedy_rollout".
    """

    name: str
    paper: str
    reward: RewardFn
    base: BaseFn
    shapers: tuple[ShaperFn, ...]
    credit: CreditFn
    token_mask: TokenMaskFn | None
    surrogate: SurrogateFn
    reduction: ReductionFn
    regularizers: tuple[RegularizerFn, ...]
    importance: ImportanceFn | None
    select: SelectFn | None
    schedule: Schedule
    init_state: Callable[[], Any]
    update_state: UpdateStateFn | None
    needs: frozenset[str]
    ddof: int  # of the reward standard deviation
    zero_sum: bool  # promise: advantages of a group sum to zero
    dead_groups_zero: bool  # promise: groups with equal rewards get zero advantage
    status: str = "exact"  # "exact", "inferred" or "experimental"
    formula: str = ""  # what it changes, with the paper's number where it is known
    token_select: TokenMaskFn | None = None  # -> ctx.selected_BGT, for the surrogate
    token_statistic: Callable[[Array], Array] | None = None  # logits_.V -> ctx
    refill: int = 0  # most rollout batches a step may sample to find mixed groups
    curriculum: Curriculum | None = None
