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
from agrae_jax.minibatch import live_first, split_rows, take_split, token_context
from agrae_jax.optim import apply_gradients
from agrae_jax.refill import DrawMore, Round, fill
from agrae_jax.rl import loss as rl_loss
from agrae_jax.rl.diagnostics import (
    diagnostics,
    rollout_diagnostics,
    token_diagnostics,
)
from agrae_jax.rl.masked import masked
from agrae_jax.scoring import length_mask, score, score_in_parts
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


@dataclasses.dataclass(frozen=True)
class UpdateSpec:
    """Numbers of the update: how a rollout batch is split and scored."""

    mini_batches: int  # optimizer steps per pass over a rollout batch
    epochs: int
    micro_batches: int  # gradient accumulation inside one optimizer step
    temperature: float  # of the training distribution: the sampler's
    budget: int  # most new tokens: the denominator of `fixed_length`
    chunk: int  # logit rows alive at once
    skip_not_finite: bool = False  # leave the state as it was after such an update


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
    epochs: int
    greedy: Callable[[Any, PromptBatch], Rollout] | None = None  # one a prompt
    refill: int = 0  # most rollout batches a step may sample; see `refill.py`


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
) -> tuple[TrainState, Metrics, Seen]:
    """One rollout step: `answers` are those of this process's prompts.

    `draw_more` gives further prompts to a method that refills its batch.
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
    state = dataclasses.replace(state, method_state=prepared.method_state)
    for batch in prepared.batches * fns.epochs:
        state, update_metrics = fns.update(state, batch)
        metrics = merge(metrics, update_metrics)
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

    whole = TrainBatch(
        prompts=prompts,
        completion_BGT=completion,
        length_BG=rollout.length_BG,
        stop_BG=rollout.stop_BG,
        mask_BGT=mask_BGT,
        weight_BGT=mask_BGT,  # its denominators are those of each part, below
        keep_BGT=jnp.ones_like(mask_BGT),
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


def update(
    state: TrainState,
    batch: TrainBatch,
    *,
    policy: Policy,
    method: Method,
    tx: Any,
    spec: UpdateSpec,
) -> tuple[TrainState, Metrics]:
    """One optimizer step: gradients of micro-batches are a plain sum."""
    entropy_gradient = "token_entropy" in method.needs

    def micro_loss(params: Any, micro: TrainBatch) -> tuple[Array, Metrics]:
        logprob, entropy = score(
            params,
            micro.prompts,
            micro.completion_BGT,
            policy=policy,
            temperature=spec.temperature,
            chunk=spec.chunk,
            entropy_gradient=entropy_gradient,
        )
        ctx = token_context(micro, logprob, entropy)
        loss, metrics = rl_loss.rlvr_loss(
            ctx, micro.advantage_BGT, micro.keep_BGT, state.method_state, method=method
        )
        return loss, metrics | token_diagnostics(ctx)

    if method.token_mask is not None or method.token_select is not None:
        batch = _with_token_choice(state, batch, policy, method, spec)
    gradient = jax.value_and_grad(micro_loss, has_aux=True)
    trained = jnp.float32(batch.length_BG.shape[0])
    if spec.micro_batches == 1:
        (loss, metrics), grads = gradient(state.params, batch)
    else:
        # A group with no advantage anywhere (all right, all wrong) has no gradient,
        # unless a regularizer gives it one: such groups go last and are not computed.
        rows = batch.length_BG.shape[0] // spec.micro_batches
        live_B = jnp.ones(batch.length_BG.shape[0], bool)
        if not method.regularizers:
            push_BGT = batch.weight_BGT * batch.keep_BGT * batch.advantage_BGT
            live_B = (push_BGT != 0).any((1, 2))
        ordered = live_first(batch, live_B, spec.micro_batches)
        micros = split_rows(ordered, spec.micro_batches)
        count = jnp.maximum(-(-live_B.sum() // rows), 1)
        trained = (count * rows).astype(jnp.float32)

        def add_micro(i: Array, total: Any) -> Any:
            micro = jax.tree.map(lambda x: x[i], micros)
            return jax.tree.map(jnp.add, total, gradient(state.params, micro))

        shapes = jax.eval_shape(
            gradient, state.params, jax.tree.map(lambda x: x[0], micros)
        )
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        (loss, metrics), grads = jax.lax.fori_loop(0, count, add_micro, zeros)

    params, opt_state, grad_norm, update_norm = apply_gradients(
        tx, grads, state.opt_state, state.params
    )
    one = jnp.float32(1.0)
    if spec.skip_not_finite:
        sums = (loss, grad_norm, update_norm)
        good = jnp.isfinite(jnp.stack(sums)).all()
        was = (state.params, state.opt_state)
        params, opt_state = jax.tree.map(
            lambda new, old: jnp.where(good, new, old), (params, opt_state), was
        )
        metrics |= {"skipped_updates": (one - good, one)}
    metrics |= {
        "loss": (loss, one),
        "grad_norm": (grad_norm, one),
        "update_norm": (update_norm, one),
        "trained_groups": (trained, one),
    }
    return dataclasses.replace(state, params=params, opt_state=opt_state), metrics


def _with_token_choice(
    state: TrainState, batch: TrainBatch, policy: Policy, method: Method, spec: Any
) -> TrainBatch:
    """Fixes the method's token mask and selection over the whole optimizer batch."""
    logprob, entropy = batch.old_logprob_BGT, batch.old_entropy_BGT
    if "current_first_pass" in method.needs or logprob is None:
        logprob, entropy = score_in_parts(
            state.params,
            batch.prompts,
            batch.completion_BGT,
            parts=spec.micro_batches,
            policy=policy,
            temperature=spec.temperature,
            chunk=spec.chunk,
        )
    ctx = jax.lax.stop_gradient(token_context(batch, logprob, entropy))
    if method.token_select is not None:
        chosen = method.token_select(ctx, batch.advantage_BGT)
        batch = dataclasses.replace(batch, selected_BGT=chosen)
    if method.token_mask is not None:
        keep = method.token_mask(ctx, batch.advantage_BGT)
        batch = dataclasses.replace(batch, keep_BGT=keep)
    return batch
