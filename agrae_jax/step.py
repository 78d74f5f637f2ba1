"""The step: sample -> verify -> advantage -> loss -> update, composed.

    rollout = sample(params, prompts)          jitted prefill + decode, in waves
    graded  = verify(rollout, answers)         host, each process its own rows
    prepared = prepare(state, rollout, graded) jitted: advantages, weights
    state   = update(state, batch)             jitted, once per optimizer step

Everything that a denominator or a statistic needs is fixed in `prepare`, over whole
groups and the whole rollout batch; `update` only adds up.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from agrae_jax.metrics import merge
from agrae_jax.minibatch import take_split, token_context
from agrae_jax.refill import DrawMore, Round, fill
from agrae_jax.rl import loss as rl_loss
from agrae_jax.rl.diagnostics import diagnostics, rollout_diagnostics
from agrae_jax.rl.masked import masked
from agrae_jax.scoring import length_mask, score_in_parts
from agrae_jax.sharding import constrain
from agrae_jax.types import (
    Beside,
    Graded,
    Method,
    Metrics,
    Policy,
    PromptBatch,
    RewardInput,
    Rollout,
    TrainBatch,
    TrainState,
)
from agrae_jax.update import UpdateSpec as UpdateSpec
from agrae_jax.update import update as update


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Prepared:
    """What `prepare` fixes before the first optimizer step of a rollout."""

    batches: list[TrainBatch]
    method_state: Any
    reward_BG: Array
    advantage_BG: Array
    metrics: Metrics


@dataclasses.dataclass(frozen=True)
class StepFns:
    """The four functions of a step, already bound to a policy and a method."""

    sample: Callable[[Any, PromptBatch], Rollout]  # (params, prompts)
    verify: Callable[[Rollout, Sequence[str]], tuple[Graded, Any]]  # (rollout, answers)
    prepare: Callable[[TrainState, Any, Rollout, Graded, Beside], Prepared]
    update: Callable[[TrainState, TrainBatch], tuple[TrainState, Metrics]]
    # The log-probs of a rollout, and how the update changed them: forwards of their
    # own, so only in the steps that ask for them.
    logprobs: Callable[[Any, Rollout], Array]
    gain: Callable[[Array, Array, Rollout, Graded], Metrics]
    epochs: int
    greedy: Callable[[Any, PromptBatch], Rollout] | None = None  # one a prompt
    refill: int = 0  # most rollout batches a step may sample; see `refill.py`
    gain_every: int = 0  # steps between measurements of `gain`; 0 = never


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a step produced besides the new state: for logs, never for training."""

    rollout: Rollout
    graded: Graded
    verdicts: list[list[Any]]  # [B][G], this process's rows
    reward_BG: Array
    advantage_BG: Array
    picked: np.ndarray | None = None  # [B, 2]: drawn batch and row of each group
    rounds: int = 1  # rollout batches sampled


def rlvr_step(
    state: TrainState,
    prompts: PromptBatch,
    answers: Sequence[str],
    *,
    fns: StepFns,
    ref_params: Any = None,
    on_phase: Callable[[str], None] = lambda name: None,
    draw_more: DrawMore | None = None,
    measure_gain: bool = False,
) -> tuple[TrainState, Metrics, Seen]:
    """One rollout step: `answers` are those of this process's prompts.

    `draw_more` gives further prompts to a method that refills its batch; `measure_gain`
    scores the rollout before and after the update.
    """

    def roll(prompts: PromptBatch, answers: Sequence[str]) -> Round:
        on_phase("sample")
        rollout = fns.sample(state.params, prompts)
        jax.block_until_ready(rollout.length_BG)  # so that phases are timed apart
        on_phase("verify")
        return Round(rollout, *fns.verify(rollout, answers))

    filled = fill(roll, prompts, answers, draw_more, limit=fns.refill)
    rollout, graded = filled.round.rollout, filled.round.graded
    beside = Beside(omega=filled.omega)
    if fns.greedy is not None:
        on_phase("sample")
        greedy = fns.greedy(state.params, rollout.prompts)
        on_phase("verify")
        verdict, _ = fns.verify(greedy, filled.answers)
        beside = dataclasses.replace(beside, greedy=reward_input(greedy, verdict))
    on_phase("learn")
    prepared = fns.prepare(state, ref_params, rollout, graded, beside)
    metrics = prepared.metrics | filled.metrics
    before = fns.logprobs(state.params, rollout) if measure_gain else None
    state = dataclasses.replace(state, method_state=prepared.method_state)
    for batch in prepared.batches * fns.epochs:
        state, update_metrics = fns.update(state, batch)
        metrics = merge(metrics, update_metrics)
    if before is not None:
        after = fns.logprobs(state.params, rollout)
        metrics |= fns.gain(before, after, rollout, graded)
    state = dataclasses.replace(state, step=state.step + 1)
    seen = Seen(
        rollout,
        graded,
        filled.round.verdicts,
        prepared.reward_BG,
        prepared.advantage_BG,
        filled.picked,
        filled.rounds,
    )
    return state, metrics, seen


def reward_input(rollout: Rollout, graded: Graded) -> RewardInput:
    """What a reward may see of a graded rollout; the reference is not in it yet."""
    return RewardInput(
        correct_BG=graded.correct_BG,
        format_ok_BG=graded.format_ok_BG,
        valid_BG=graded.valid_BG,
        length_BG=rollout.length_BG,
        stop_BG=rollout.stop_BG,
    )


def prepare(
    state: TrainState,
    ref_params: Any,
    rollout: Rollout,
    graded: Graded,
    beside: Beside | None = None,
    *,
    policy: Policy,
    method: Method,
    spec: UpdateSpec,
) -> Prepared:
    """Rollout -> optimizer batches, with advantages, old log-probs and weights fixed.

    Statistics see whole groups and, for omega, the whole rollout batch.
    """
    prompts, completion = rollout.prompts, rollout.completion_BGT
    scored = functools.partial(
        score_in_parts,
        parts=spec.mini_batches * spec.micro_batches,
        policy=policy,
        temperature=spec.temperature,
        chunk=spec.chunk,
    )
    beside = beside or Beside()
    mask_BGT = length_mask(rollout.length_BG, completion.shape[-1])

    # Exactly on-policy (one optimizer step a rollout) the old log-probs are those of
    # the update's own forward: None stands for that. Otherwise score them now.
    on_policy = spec.mini_batches * spec.epochs == 1
    old_logprob = old_entropy = ref_logprob = statistic = None
    if not on_policy or method.needs & {"old_logprob", "old_entropy", "ref_gap"}:
        old_logprob, old_entropy = scored(state.params, prompts, completion)
    if method.needs & {"ref_logprob", "ref_gap"}:
        ref_logprob, _ = scored(ref_params, prompts, completion)
    if method.token_statistic is not None:
        statistic = scored(
            state.params, prompts, completion, statistic=method.token_statistic
        )[1]

    seen = reward_input(rollout, graded)
    if "ref_gap" in method.needs:
        assert old_logprob is not None and ref_logprob is not None
        gap_BGT = masked(old_logprob - ref_logprob, mask_BGT)
        seen = dataclasses.replace(seen, ref_gap_BGT=gap_BGT)
        if beside.greedy is not None:  # its distance is not measured: it gets no KL
            none_B11 = jnp.zeros((*beside.greedy.length_BG.shape, 1))
            greedy = dataclasses.replace(beside.greedy, ref_gap_BGT=none_B11)
            beside = dataclasses.replace(beside, greedy=greedy)
    if on_policy and not method.needs & {"old_logprob"}:
        old_logprob = None
    inputs, advantage_BG = rl_loss.advantages(seen, method=method, beside=beside)
    metrics = diagnostics(inputs, advantage_BG, rollout.stop_BG)
    metrics |= rollout_diagnostics(
        inputs, mask_BGT, rollout.logprob_BGT, rollout.entropy_BGT, statistic
    )
    if method.select is not None:
        train_BG = method.select(state.method_state, seen)
        mask_BGT = mask_BGT * train_BG[..., None]

    method_state = state.method_state
    if method.update_state is not None:
        method_state = method.update_state(method_state, inputs, advantage_BG, metrics)

    # Ones belong nowhere: without a word every device would hold all of them.
    rows = ("batch", None, None)
    keep_BGT = constrain(jnp.ones_like(mask_BGT), rows, policy.rules["train"])
    whole = TrainBatch(
        prompts=prompts,
        completion_BGT=completion,
        length_BG=rollout.length_BG,
        stop_BG=rollout.stop_BG,
        mask_BGT=mask_BGT,
        weight_BGT=mask_BGT,  # its denominators are those of each part, below
        keep_BGT=keep_BGT,
        advantage_BG=advantage_BG,
        advantage_BGT=mask_BGT,
        old_logprob_BGT=old_logprob,
        sampler_logprob_BGT=rollout.logprob_BGT,
        ref_logprob_BGT=ref_logprob,
        old_entropy_BGT=old_entropy,
        correct_BG=graded.correct_BG,
        valid_BG=graded.valid_BG,
        reward_BG=inputs.reward_BG,
        stats=inputs.stats,
        statistic_BGT=statistic,
    )
    # Credit sees the whole rollout batch, so that its quantiles and means do not depend
    # on how it is split. Where old log-probs are not known yet they read as zeros: a
    # credit that wants them must name the need.
    fixed = jnp.zeros_like(mask_BGT) if old_logprob is None else old_logprob
    ctx = token_context(whole, fixed, None)
    whole = dataclasses.replace(whole, advantage_BGT=method.credit(advantage_BG, ctx))

    def optimizer_batch(index: int) -> TrainBatch:
        rows = functools.partial(take_split, index=index, count=spec.mini_batches)
        part: TrainBatch = jax.tree.map(rows, whole)
        weight_BGT = method.reduction(part.mask_BGT, spec.budget)
        return dataclasses.replace(part, weight_BGT=weight_BGT)

    batches = [optimizer_batch(i) for i in range(spec.mini_batches)]
    return Prepared(batches, method_state, inputs.reward_BG, advantage_BG, metrics)
