"""The update: one optimizer step on a batch whose denominators are fixed.

Gradients of micro-batches are a plain sum; nothing here divides.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from agrae_jax.minibatch import live_first, split_rows, token_context
from agrae_jax.optim import apply_gradients
from agrae_jax.rl import loss as rl_loss
from agrae_jax.rl.diagnostics import logprob_gain, token_diagnostics
from agrae_jax.scoring import length_mask, score, score_in_parts
from agrae_jax.types import (
    Graded,
    Method,
    Metrics,
    Policy,
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
        # unless a regularizer or a selection gives it one: such groups go last and are
        # not computed.
        rows = batch.length_BG.shape[0] // spec.micro_batches
        live_B = jnp.ones(batch.length_BG.shape[0], bool)
        if not method.regularizers:
            push_BGT = batch.weight_BGT * batch.keep_BGT * batch.advantage_BGT
            live_B = (push_BGT != 0).any((1, 2))
            if batch.selected_BGT is not None:
                live_B |= (batch.selected_BGT * batch.weight_BGT != 0).any((1, 2))
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


def rollout_logprobs(
    params: Any, rollout: Rollout, *, policy: Policy, spec: UpdateSpec
) -> Array:
    """Log-probs of a rollout's tokens, [B, G, T], a micro-batch at a time."""
    logprob_BGT, _ = score_in_parts(
        params,
        rollout.prompts,
        rollout.completion_BGT,
        parts=spec.mini_batches * spec.micro_batches,
        policy=policy,
        temperature=spec.temperature,
        chunk=spec.chunk,
    )
    return logprob_BGT


def gain(
    before_BGT: Array, after_BGT: Array, rollout: Rollout, graded: Graded
) -> Metrics:
    """How the update changed the log-probs of correct and of other completions."""
    mask_BGT = length_mask(rollout.length_BG, before_BGT.shape[-1])
    return logprob_gain(before_BGT, after_BGT, mask_BGT, graded.correct_BG)
