"""From a config to the values a run is made of. Config objects stop here."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from agrae_jax import methods, sampling, sharding, step
from agrae_jax.build_model import Model as Model
from agrae_jax.build_model import build_mesh as build_mesh
from agrae_jax.build_model import build_model as build_model
from agrae_jax.build_model import policy_options as policy_options
from agrae_jax.build_model import prompt_options
from agrae_jax.data import batches, datasets, templates
from agrae_jax.data.problem import Problem
from agrae_jax.distributed import global_rows
from agrae_jax.errors import DATA, UserError
from agrae_jax.grading import DecodeFn, GradeFn, verify
from agrae_jax.optim import make_optimizer, state_shardings
from agrae_jax.recompiles import CompiledOnce
from agrae_jax.rl import rewards
from agrae_jax.segments import SegmentSampler
from agrae_jax.types import Method, Params, PromptBatch, Rollout, TrainState
from agrae_jax.update import gain, rollout_logprobs

EVAL_SEED = 1 << 20  # added to the seed: evaluation never shares noise with training


def build_method(config: Any) -> Method:
    """The method with its arguments and the loss settings that override it."""
    method = methods.resolve(config.method.name, **dict(config.method.kwargs))
    method = methods.override(method, **dict(config.loss))
    weight = config.verify.format_weight
    if not weight:
        return method
    reward = functools.partial(rewards.with_format, reward=method.reward, weight=weight)
    return dataclasses.replace(method, reward=reward)


def build_problems(config: Any, split: str) -> list[Problem]:
    """The problems of `data.train` or `data.test`."""
    name, kwargs = config.data[split], dict(config.data[f"{split}_kwargs"])
    try:
        problems = datasets.load(name, split=split, **kwargs)
    except UserError as error:
        raise UserError(f"data.{split}: {error}", exit_code=DATA) from None
    if split == "test" and config.eval.problems:
        if len(problems) < config.eval.problems:
            raise UserError(
                f"eval.problems={config.eval.problems} but data.test has "
                f"{len(problems)}"
            )
        problems = problems[: config.eval.problems]
    return problems


def encode_problems(
    config: Any, problems: list[Problem], model: Model
) -> tuple[list[batches.Encoded], int]:
    """Prompts by the config's template; and how many were too long."""
    render = functools.partial(
        templates.encode_prompt, tokenizer=model.tokenizer, **prompt_options(config)
    )
    return batches.encode(
        problems,
        render,
        max_tokens=config.data.max_prompt_tokens,
        prefix=model.policy.prefix,
    )


def train_spec(config: Any, tokenizer: templates.Tokenizer) -> sampling.SampleSpec:
    """How training rollouts are sampled."""
    c = config.rollout
    return sampling.SampleSpec(
        samples=c.samples,
        max_new_tokens=c.max_new_tokens,
        eos_ids=tuple(sorted(tokenizer.eos_ids)),
        temperature=c.temperature,
        top_k=c.top_k,
        top_p=c.top_p,
        segment=config.rollout.segment,
    )


def eval_spec(
    config: Any, tokenizer: templates.Tokenizer, *, samples: int
) -> sampling.SampleSpec:
    """How evaluation samples, so many of a problem at a time: its own profile."""
    c = config.eval
    return sampling.SampleSpec(
        samples=samples,
        max_new_tokens=c.max_new_tokens or config.rollout.max_new_tokens,
        eos_ids=tuple(sorted(tokenizer.eos_ids)),
        temperature=c.temperature,
        top_k=c.top_k,
        top_p=c.top_p,
        segment=config.rollout.segment,
    )


def greedy_spec(spec: sampling.SampleSpec) -> sampling.SampleSpec:
    """One greedy completion of each problem."""
    return dataclasses.replace(spec, samples=1, temperature=0.0, top_k=0, top_p=1.0)


def build_sampler(
    model: Model,
    spec: sampling.SampleSpec,
    *,
    seed: int,
    wave: int,
    on_wave: Callable[[Rollout], None] | None = None,
):
    """A (params, host prompts) -> Rollout that samples `wave` groups at a time."""
    rows = sharding.batch_sharding(model.mesh)
    if spec.segment:
        devices = model.mesh.size
        groups = devices // rows.shard_shape((devices,))[0]  # parts of the batch axis
        sampler = SegmentSampler(
            model.policy, spec, multiple=groups, out_shardings=rows
        )
    else:
        sampler = CompiledOnce(
            "sample", sampling.make_sampler(model.policy, spec, out_shardings=rows)
        )
    to_sample = _to_sampling_layout(model)

    def run(params: Params, prompts: PromptBatch, first: int | None = None) -> Rollout:
        prompts = global_rows(prompts, rows)
        return sampling.sample(
            to_sample(params),
            prompts,
            jnp.int32(seed),
            wave=wave,
            sampler=sampler,
            on_wave=on_wave,
            first=None if first is None else jnp.int32(first),
        )

    run.jitted = sampler  # pyright: ignore[reportFunctionMemberAccess]
    return run


def _to_sampling_layout(model: Model):
    """Master parameters -> the decoding layout and dtype; nothing to do on one chip."""
    dtype = model.dtype
    leaves = jax.tree.leaves(model.params)
    if model.mesh.size == 1 and all(leaf.dtype == dtype for leaf in leaves):
        return lambda params: params
    target = sharding.named_shardings(
        model.params, model.policy.param_axes, model.policy.rules["sample"], model.mesh
    )

    def cast(params: Params) -> Params:
        return jax.tree.map(lambda x: x.astype(dtype), params)

    return jax.jit(cast, out_shardings=target)


def build_optimizer(config: Any, method: Method) -> Any:
    """AdamW by the config; its steps are optimizer steps, not rollout steps."""
    spec = update_spec(config, method)
    per_rollout = spec.mini_batches * spec.epochs
    return make_optimizer(total_steps=config.steps * per_rollout, **dict(config.optim))


def build_state(model: Model, method: Method, tx: Any) -> tuple[TrainState, Any]:
    """The state before the first step, and its shardings."""
    everywhere = jax.sharding.NamedSharding(model.mesh, jax.sharding.PartitionSpec())
    opt_shardings = state_shardings(tx, model.params, model.shardings, everywhere)
    opt_state = jax.jit(tx.init, out_shardings=opt_shardings)(model.params)
    method_state = jax.device_put(method.init_state(), everywhere)
    state = TrainState(
        step=jax.device_put(jnp.int32(0), everywhere),
        params=model.params,
        opt_state=opt_state,
        method_state=method_state,
    )
    return state, jax.tree.map(lambda x: x.sharding, state)


def update_spec(config: Any, method: Method) -> step.UpdateSpec:
    """The numbers of the update; a method's own schedule goes before the config's."""
    schedule = method.schedule
    return step.UpdateSpec(
        mini_batches=schedule.mini_batches or config.updates.mini_batches,
        epochs=schedule.epochs or config.updates.epochs,
        micro_batches=config.updates.micro_batches,
        temperature=config.rollout.temperature,
        budget=config.rollout.max_new_tokens,
        chunk=config.updates.logprob_chunk,
        skip_not_finite=config.updates.on_nan == "skip",
    )


def build_step(
    config: Any,
    model: Model,
    method: Method,
    tx: Any,
    shardings: Any,
    grade: GradeFn,
    *,
    decode: DecodeFn | None = None,
    on_wave: Callable[[Rollout], None] | None = None,
) -> step.StepFns:
    """The four functions of a step, jitted, with the state's layout pinned."""
    decode = decode or model.tokenizer.decode
    spec = update_spec(config, method)
    bound = {"policy": model.policy, "method": method, "spec": spec}
    return step.StepFns(
        sample=build_sampler(
            model,
            train_spec(config, model.tokenizer),
            seed=config.seed,
            wave=config.rollout.wave,
            on_wave=on_wave,
        ),
        verify=functools.partial(verify, decode=decode, grade=grade),
        prepare=CompiledOnce(
            "prepare", jax.jit(functools.partial(step.prepare, **bound))
        ),
        update=CompiledOnce(
            "update",
            jax.jit(
                functools.partial(step.update, tx=tx, **bound),
                donate_argnums=0,
                # Pinned: otherwise the second call meets other layouts and recompiles.
                out_shardings=(shardings, None),
            ),
        ),
        epochs=spec.epochs,
        greedy=_greedy_sampler(config, model, method),
        refill=method.refill,
        logprobs=CompiledOnce(
            "rollout_logprobs",
            jax.jit(
                functools.partial(rollout_logprobs, policy=model.policy, spec=spec)
            ),
        ),
        gain=jax.jit(gain),
        gain_every=config.log.gain_every,
    )


def _greedy_sampler(config: Any, model: Model, method: Method):
    """One greedy completion a prompt, where the method's baseline is its reward."""
    if "greedy_rollout" not in method.needs:
        return None
    spec = greedy_spec(train_spec(config, model.tokenizer))
    wave = config.rollout.wave
    return build_sampler(model, spec, seed=config.seed, wave=wave)


def reference_params(model: Model, method: Method) -> Params | None:
    """A frozen copy of the first parameters, where the method needs a reference."""
    if not method.needs & {"ref_logprob", "ref_gap"}:
        return None

    def copy(params: Params) -> Params:
        return jax.tree.map(jnp.copy, params)

    return jax.jit(copy, out_shardings=model.shardings)(model.params)


def abstract(tree: Any) -> Any:
    """Shapes, dtypes and shardings of a tree: what a restore needs to know."""
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), tree
    )
