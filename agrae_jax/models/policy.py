"""A family's module turned into `types.Policy`: functions of plain parameter dicts.

The only place where a flax module meets parameters. `nnx.merge` matches a plain dict
by position, not by name, so `check_params` compares paths, shapes and dtypes; call it
once wherever a tree comes from outside (load, restore).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from agrae_jax.errors import UserError
from agrae_jax.models import attention as plain
from agrae_jax.models import cache as caches
from agrae_jax.models.families import FAMILIES
from agrae_jax.sharding import tree_path
from agrae_jax.types import Params, Policy

# auto: the kernel on a TPU in bfloat16 (it would round float32's products), else plain
ATTENTIONS = ("auto", "plain", "splash", "splash_interpreted")
DTYPES = {"float32": jnp.float32, "bfloat16": jnp.bfloat16}


def build(
    family: str,
    config: Any,
    *,
    dtype: Any = "float32",
    param_dtype: Any = "float32",
    remat: bool = True,
    attention: str = "auto",
    attention_block: int = plain.BLOCK,
    unroll_decode: bool | None = None,
    prefix: Sequence[int] = (),
) -> Policy:
    """The policy of one architecture; parameters come from `init` or from a file.

    `dtype` is of compute, `param_dtype` of the stored parameters; `remat` recomputes
    layers in the backward pass. `attention` is of whole rows, one of `ATTENTIONS`; in
    the plain one at most `attention_block` queries of a row have their scores alive at
    once. `unroll_decode` keeps a second copy of the weights,
    layer by layer, while sampling: None = on CPU only, where slicing the stacked
    weights for every token would copy them all (45 % of the time, measured). `prefix`
    are the tokens that stand before every prompt: they are computed once for a batch.
    """
    if unroll_decode is None:
        unroll_decode = jax.default_backend() == "cpu"
    kind = FAMILIES[family]
    options = {"dtype": _dtype(dtype), "param_dtype": _dtype(param_dtype)}

    def create(key: Array) -> nnx.Module:
        return kind.module(config, rngs=nnx.Rngs(key), **options)

    def init(key: Array) -> Params:
        return nnx.to_pure_dict(nnx.state(create(key), nnx.Param))

    graph, _ = nnx.split(nnx.eval_shape(create, jax.random.key(0)))

    def module(params: Params) -> Any:
        return nnx.merge(graph, params)

    prefix = tuple(prefix)
    train, sample = kind.rules["train"], kind.rules["sample"]
    attend = _attend(attention, options["dtype"], attention_block)

    def forward_groups(params: Params, *arrays: Array) -> Array:
        with jax.named_scope("forward_groups"):
            return module(params).forward_groups(
                *arrays,
                prefix=prefix,
                rules=train,
                remat=remat,
                attend=functools.partial(attend, rules=train),
            )

    def prefill(params: Params, *arrays: Any) -> tuple[Array, Any]:
        with jax.named_scope("prefill"):
            hidden, cache = module(params).prefill(
                *arrays,
                prefix=prefix,
                rules=sample,
                attend=functools.partial(attend, rules=sample),
            )
            return hidden, caches.split(cache, sample)

    def resize_cache(*arrays: Any) -> Any:
        return caches.split(caches.resize(*arrays), sample)

    def decode_layout(params: Params, cache: Any) -> tuple[Params, Any]:
        if not unroll_decode:
            return params, cache

        def apart(tree: Any) -> list[Any]:
            return [
                jax.tree.map(lambda x, i=i: x[i], tree) for i in range(config.layers)
            ]

        parts = {name: apart(cache[name]) for name in ("prompt", "completion")}
        return params | {"layers": apart(params["layers"])}, cache | parts

    def decode(params: Params, *arrays: Any) -> tuple[Array, Any]:
        layers = params["layers"]
        apart = layers if isinstance(layers, list) else None
        if apart:  # the module is merged by position: any layer stands in
            params = params | {"layers": apart[0]}
        with jax.named_scope("decode"):
            return module(params).decode(*arrays, rules=sample, layers=apart)

    def unembed(params: Params, hidden: Array) -> Array:
        with jax.named_scope("unembed"):
            return module(params).unembed(hidden)

    def init_cache(B: int, G: int, L: int, T: int) -> Any:
        whole = len(prefix) + L
        return caches.init(config, B, G, whole, T, dtype=options["dtype"])

    return Policy(
        name=family,
        config=config,
        vocab_size=config.vocab_size,
        prefix=prefix,
        init=init,
        forward_groups=forward_groups,
        init_cache=init_cache,
        resize_cache=resize_cache,
        prefill=prefill,
        decode_layout=decode_layout,
        decode=decode,
        unembed=unembed,
        param_axes=kind.param_axes,
        rules=kind.rules,
    )


def _attend(kind: str, dtype: Any, block: int) -> Any:
    """`attend_groups` of one kind, taking `rules` too."""
    if kind not in ATTENTIONS:
        raise UserError(
            f"model.attention: {kind!r} is not one of {', '.join(ATTENTIONS)}"
        )
    if kind == "auto":
        on_tpu = jax.default_backend() == "tpu" and dtype == jnp.bfloat16
        kind = "splash" if on_tpu else "plain"
    if kind == "plain":

        def attend(*arrays: Array, rules: Any, **sizes: Any) -> Array:
            del rules  # the compiler splits it by its operands
            return plain.attend_groups(*arrays, **sizes, block=block)

        return attend
    from agrae_jax.models import splash  # only here: pallas takes a second to import

    interpret = kind == "splash_interpreted"
    return functools.partial(splash.attend_groups, interpret=interpret)


def param_shapes(policy: Policy) -> Params:
    """Shapes and dtypes of the policy's parameters, without computing them."""
    return jax.eval_shape(policy.init, jax.random.key(0))


def check_params(policy: Policy, params: Params) -> None:
    """Raises `UserError` naming a path, shape or dtype that is not the policy's."""
    found, wanted = _leaves(params), _leaves(param_shapes(policy))
    odd = sorted(set(found) ^ set(wanted))
    if odd:
        state = "missing" if odd[0] in wanted else "not a parameter of this model"
        raise UserError(f"parameters: {odd[0]} is {state}")
    for path, leaf in wanted.items():
        if (found[path].shape, found[path].dtype) != (leaf.shape, leaf.dtype):
            raise UserError(
                f"parameters: {path} is {found[path].dtype}{found[path].shape},"
                f" the model asks for {leaf.dtype}{leaf.shape}"
            )


def _leaves(tree: Any) -> dict[str, Any]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {tree_path(path): leaf for path, leaf in leaves}


def _dtype(name: Any) -> Any:
    if isinstance(name, str) and name not in DTYPES:
        raise UserError(f"model.dtype: {name!r} is not one of {', '.join(DTYPES)}")
    return jnp.dtype(DTYPES.get(name, name)) if isinstance(name, str) else name
