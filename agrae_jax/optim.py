"""The optimizer: AdamW with a gradient clip and a learning-rate schedule (optax)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from agrae_jax.errors import UserError
from agrae_jax.types import Params


def make_optimizer(
    *,
    learning_rate: float,
    total_steps: int,
    warmup_steps: int = 0,
    schedule: str = "constant",
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    clip_norm: float = 0.0,
    mu_dtype: str = "float32",
) -> optax.GradientTransformation:
    """AdamW; every parameter is decayed, as the papers' torch recipe does.

    `warmup_steps` and `total_steps` count optimizer steps. `schedule` is the shape
    after the warm-up: constant, or linear or cosine to zero at `total_steps`.
    """
    after = max(total_steps - warmup_steps, 1)
    if schedule == "constant":
        rate = optax.constant_schedule(learning_rate)
    elif schedule == "linear":
        rate = optax.linear_schedule(learning_rate, 0.0, after)
    elif schedule == "cosine":
        rate = optax.cosine_decay_schedule(learning_rate, after)
    else:
        raise UserError(
            f"optim.schedule is {schedule!r}: choose constant, linear or cosine"
        )
    if warmup_steps:
        ramp = optax.linear_schedule(0.0, learning_rate, warmup_steps)
        rate = optax.join_schedules([ramp, rate], [warmup_steps])
    adam = optax.adamw(
        rate,
        b1=beta1,
        b2=beta2,
        eps=eps,
        weight_decay=weight_decay,
        mu_dtype=jnp.dtype(mu_dtype),
    )
    if clip_norm:
        return optax.chain(optax.clip_by_global_norm(clip_norm), adam)
    return adam


def apply_gradients(
    tx: optax.GradientTransformation, grads: Params, opt_state: Any, params: Params
) -> tuple[Params, Any, Array, Array]:
    """One optimizer step: (params, opt_state, gradient norm, update norm)."""
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)  # pyright: ignore
    return params, opt_state, optax.tree.norm(grads), optax.tree.norm(updates)


def state_shardings(
    tx: optax.GradientTransformation, params: Params, param_shardings: Any, other: Any
) -> Any:
    """Shardings of the optimizer state: moments as their parameters, `other` else."""
    state = jax.eval_shape(tx.init, params)
    return optax.tree_map_params(
        tx,
        lambda _, sharding: sharding,
        state,
        param_shardings,
        transform_non_params=lambda _: other,
    )
