"""The mesh, the policy on it, its parameters and its tokenizer, from a config."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import Mesh

from agrae_jax import models, sharding
from agrae_jax.data import templates
from agrae_jax.errors import UserError
from agrae_jax.models import gguf
from agrae_jax.types import Params, Policy


@dataclasses.dataclass(frozen=True)
class Model:
    """A policy on its mesh, its parameters and the tokenizer that goes with it."""

    policy: Policy
    params: Params  # sharded as `shardings`
    shardings: Any
    tokenizer: templates.Tokenizer
    mesh: Mesh
    dtype: str  # of compute, hence of the parameters that sample


def build_mesh(config: Any, available: Sequence[Any] | None = None) -> Mesh:
    """The device mesh; -1 on the fsdp axis takes all devices, a number only so many.

    `available` are the devices, by default this process's cluster's.
    Raises UserError where the devices cannot do what the config asks, or they or the
    batch sizes over them do not divide.
    """
    kernel = config.model.attention == "splash"
    if kernel and available is None and jax.default_backend() != "tpu":
        raise UserError(
            "config.model.attention=splash is a kernel of TPUs, which are not here: "
            "leave it auto"
        )
    available = jax.devices() if available is None else available
    devices, tensor, fsdp = len(available), config.mesh.tensor, config.mesh.fsdp
    if fsdp == -1:
        if devices % tensor:
            raise UserError(
                f"mesh.tensor={tensor} does not divide the {devices} devices"
            )
        fsdp = devices // tensor
    if fsdp * tensor > devices:
        raise UserError(
            f"mesh.fsdp={fsdp} x mesh.tensor={tensor} is more than the {devices} "
            "devices: set mesh.fsdp=-1 to take what there is"
        )
    c, updates = config.rollout, config.updates
    rows = c.prompts // updates.mini_batches // updates.micro_batches
    evaluated = config.eval.prompts or c.wave or c.prompts
    for name, size in (
        ("rollout.prompts / mini_batches / micro_batches", rows),
        ("rollout.wave (or prompts)", c.wave or c.prompts),
        ("eval.prompts (or rollout.wave)", evaluated),
    ):
        if size % fsdp:
            raise UserError(
                f"{name} is {size}, which the {fsdp} devices of the fsdp axis do not "
                "divide: change it, or set mesh.fsdp"
            )
    return sharding.make_mesh(fsdp, tensor, available[: fsdp * tensor])


def build_model(config: Any, mesh: Mesh, *, weights: bool = True) -> Model:
    """Reads (or, for `random:FAMILY`, draws) the weights and puts them on the mesh.

    Without `weights`, params are shapes with shardings: what a restore asks for.
    """
    c, options = config.model, policy_options(config)
    random = c.path.startswith("random:")
    tokenizer = templates.tiny() if random else load_tokenizer(c.path)
    if c.share_prefix:
        options["prefix"] = templates.shared_prefix(
            tokenizer=tokenizer, **prompt_options(config)
        )
    if random:
        kwargs = {"vocab_size": tokenizer.vocab_size, **dict(c.kwargs)}
        policy = models.random(c.path.removeprefix("random:"), kwargs, **options)
    else:
        policy, _ = models.load_policy(c.path, **options)
    if tokenizer.vocab_size > policy.vocab_size:
        raise UserError(
            f"the tokenizer of model.path={c.path} has {tokenizer.vocab_size} tokens,"
            f" the model {policy.vocab_size}: they do not belong together"
        )
    shapes = jax.eval_shape(policy.init, jax.random.key(0))
    shardings = param_shardings(policy, shapes, mesh)
    if not weights:
        params = jax.tree.map(
            lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s),
            shapes,
            shardings,
        )
    elif random:
        init = jax.jit(policy.init, out_shardings=shardings)
        params = init(jax.random.key(config.seed))
    else:
        params = models.load_params(c.path, policy, shardings)
    return Model(policy, params, shardings, tokenizer, mesh, c.dtype)


def policy_options(config: Any) -> dict[str, Any]:
    """How a policy computes: the options of `models.policy.build` but the prefix."""
    names = ("dtype", "param_dtype", "remat", "attention", "attention_block")
    return {name: config.model[name] for name in names}


def prompt_options(config: Any) -> dict[str, Any]:
    """How a question becomes a prompt: the options of `templates.encode_prompt`."""
    return {
        "template": config.data.template,
        "system": config.data.system,
        "examples": tuple(map(tuple, config.data.examples)),
    }


def load_tokenizer(path: str) -> templates.Tokenizer:
    """The tokenizer of a model folder or .gguf file."""
    found = models.resolve(path)
    if found.is_dir():
        return templates.from_folder(found)
    return templates.from_vocabulary(**gguf.read_tokenizer(found))


def param_shardings(policy: Policy, params: Any, mesh: Mesh) -> Any:
    """NamedShardings of stored parameters, by the family's strict table."""
    return sharding.named_shardings(
        params, policy.param_axes, policy.rules["train"], mesh
    )
