"""A pre-norm decoder in three forms of one maths: group forward, prefill, decode.

Layers are stacked on a leading axis. The forward passes scan over it; `decode`, which
runs once per token, loops over it so that the cache is updated in place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from agrae_jax.models.attention import (
    Part,
    attend_groups,
    attend_one,
    prompt_part,
)
from agrae_jax.models.block import Block
from agrae_jax.models.decoder_config import DecoderConfig
from agrae_jax.models.layers import (
    Linear,
    RMSNorm,
    precision,
    rope_angles,
    rope_frequencies,
)
from agrae_jax.sharding import constrain

ROW = ("batch", "seq", "act_embed")
Attend = Callable[..., Array]  # as `attention.attend_groups`


def pick(stacked: Any, i: Any) -> Any:
    """Layer `i` of a tree that is stacked on its first axis."""
    return jax.tree.map(lambda x: x[i], stacked)


class Decoder(nnx.Module):
    """Embedding, stacked blocks, final norm and head (absent where tied)."""

    block_kind: type[Block] = Block  # a family may have its own

    def __init__(
        self, config: DecoderConfig, *, dtype: Any, param_dtype: Any, rngs: nnx.Rngs
    ):
        c = config
        self.config, self.dtype = config, dtype
        options = {"dtype": dtype, "param_dtype": param_dtype}
        noise = jax.random.normal(rngs.params(), (c.vocab_size, c.width), param_dtype)
        self.embedding = nnx.Param(noise * jnp.asarray(0.02, param_dtype))
        keys = jax.random.split(rngs.params(), c.layers)
        block = nnx.vmap(lambda key: self.block_kind(c, rngs=nnx.Rngs(key), **options))
        self.layers = block(keys)
        self.norm = RMSNorm(c.width, c.norm_eps, **options)
        if not c.tied:
            self.head = Linear([c.width], [c.vocab_size], rngs=rngs, **options)

    def embed(self, tokens: Array) -> Array:
        """Token ids to vectors in the compute dtype."""
        return jnp.take(self.embedding[...], tokens, axis=0).astype(self.dtype)

    def unembed(self, hidden: Array) -> Array:
        """Final hidden states to logits, accumulated and returned in float32."""
        kernel = self.embedding[...].T if self.config.tied else self.head.kernel[...]
        return jax.lax.dot_general(
            hidden.astype(self.dtype),
            kernel.astype(self.dtype),
            (((hidden.ndim - 1,), (0,)), ((), ())),
            precision=precision(self.dtype),
            preferred_element_type=jnp.float32,
        )

    def forward_groups(
        self,
        tokens_BL: Array,
        length_B: Array,
        completion_BGT: Array,
        *,
        prefix: tuple[int, ...],
        rules: Mapping[str, Any],
        remat: bool,
        attend: Attend,
    ) -> Array:
        """hidden_BGTD that predicts every completion token (t = 0 from the prompt)."""
        (B, L), (_, G, T) = tokens_BL.shape, completion_BGT.shape
        # the last completion token predicts nothing that is asked for
        inputs = completion_BGT[:, :, :-1].reshape(B, G * (T - 1))
        later = length_B[:, None] + jnp.tile(jnp.arange(T - 1), G)
        first = jnp.broadcast_to(jnp.arange(L), (B, L))
        x, _ = self._forward(
            jnp.concatenate([tokens_BL, inputs], 1),
            jnp.concatenate([first, later], 1),
            length_B,
            prefix=prefix,
            samples=G,
            prompt=L,
            rules=rules,
            remat=remat,
            attend=attend,
        )
        last = jnp.take_along_axis(x[:, :L], (length_B - 1)[:, None, None], 1)
        rest = self.norm(x[:, L:]).reshape(B, G, T - 1, x.shape[-1])
        last = jnp.broadcast_to(self.norm(last)[:, None], (B, G, 1, x.shape[-1]))
        hidden = jnp.concatenate([last, rest], 2)
        return constrain(hidden, ("batch", None, "seq", "act_embed"), rules)

    def _forward(
        self,
        tokens_BS: Array,
        position_BS: Array,
        length_B: Array,
        *,
        prefix: tuple[int, ...],
        samples: int,
        prompt: int,
        rules: Mapping[str, Any],
        remat: bool,
        attend: Attend,
        keep: bool = False,
    ) -> tuple[Array, Any]:
        """Rows through all layers; and, if `keep`, every layer's prompt part.

        The prefix, the same for all rows, is one row of its own beside them: too
        little for a kernel, and not to be split over groups.
        """
        P = len(prefix)
        rope = self._rope(P + position_BS)
        prefix_rope = self._rope(jnp.arange(P)[None])
        graph, stacked = nnx.split(self.layers)

        def layer(rows: tuple[Array, ...], weights: Any) -> tuple[Any, Any]:
            module: Block = nnx.merge(graph, weights)
            x, *before = rows
            shared = None
            if before:
                query, key, value = module.project(before[0], prefix_rope)
                mixed = attend_groups(query, key, value, length_B, samples=1, prompt=P)
                before, shared = [module.finish(before[0], mixed)], (key, value)
            query, key, value = module.project(x, rope)
            with jax.named_scope("attention"):
                mixed = attend(
                    query,
                    key,
                    value,
                    length_B,
                    samples=samples,
                    prompt=prompt,
                    prefix=shared,
                )
            x = constrain(module.finish(x, mixed), ROW, rules)
            kept = prompt_part(key[:, :prompt], value[:, :prompt], shared)
            return (x, *before), kept if keep else None

        if remat:
            layer = jax.checkpoint(layer, prevent_cse=False)
        rows = [constrain(self.embed(tokens_BS), ROW, rules)]
        if prefix:
            rows.append(self.embed(jnp.asarray([prefix], jnp.int32)))
        (x, *_), parts = jax.lax.scan(layer, tuple(rows), stacked)
        return x, parts

    def prefill(
        self,
        tokens_BL: Array,
        length_B: Array,
        cache: Any,
        *,
        prefix: tuple[int, ...],
        rules: Mapping[str, Any],
        attend: Attend,
    ) -> tuple[Array, Any]:
        """hidden_BD of the last real prompt token, and the cache with the prompt."""
        B, L = tokens_BL.shape
        x, (keys, values) = self._forward(
            tokens_BL,
            jnp.broadcast_to(jnp.arange(L), (B, L)),
            length_B,
            prefix=prefix,
            samples=1,
            prompt=L,
            rules=rules,
            remat=False,
            attend=attend,
            keep=True,
        )
        last = jnp.take_along_axis(x, (length_B - 1)[:, None, None], 1)[:, 0]
        prompt = cache["prompt"]
        filled = {
            "keys": jax.lax.dynamic_update_slice(prompt["keys"], keys, (0,) * 5),
            "values": jax.lax.dynamic_update_slice(prompt["values"], values, (0,) * 5),
        }
        length_B = len(prefix) + length_B
        return self.norm(last), cache | {"prompt": filled, "length_B": length_B}

    def decode(
        self,
        token_BG: Array,
        index: Array,
        cache: Any,
        *,
        rules: Mapping[str, Any],
        layers: list[Any] | None,
    ) -> tuple[Array, Any]:
        """hidden_BGD that predicts token index + 1, and the cache with this token.

        `layers` are the weights of each layer apart; None = slice the stacked ones.
        """
        length_B = cache["length_B"]
        rope = self._rope((length_B + index)[:, None])
        L = jax.tree.leaves(cache["prompt"])[0].shape[-1]  # of the keys
        real = (jnp.arange(L) < length_B[:, None])[:, None, None, None]
        graph, stacked = nnx.split(self.layers)

        def layer(x: Array, mine: Any, prompt: Any, write: Any) -> tuple[Any, ...]:
            block = nnx.merge(graph, mine)
            query, key, value = block.project(x, rope)
            key = key.transpose(0, 2, 1, 3)[..., None]
            value = value.transpose(0, 2, 1, 3)[..., None, :]
            cache, keys, values = write(key, value)
            mixed = attend_one(query, Part(**prompt, seen=real), keys, values, index)
            return constrain(block.finish(x, mixed), ROW, rules), cache

        put = jax.lax.dynamic_update_slice
        x, completion = self.embed(token_BG), cache["completion"]
        if layers:  # every layer has its own arrays: nothing is sliced or copied

            def write_own(own: Any, key: Array, value: Array) -> tuple[Any, ...]:
                keys = put(own["keys"], key, (0, 0, 0, 0, index))
                values = put(own["values"], value, (0, 0, 0, index, 0))
                return {"keys": keys, "values": values}, keys, values

            completion = list(completion)
            for i, mine in enumerate(layers):
                write = functools.partial(write_own, completion[i])
                x, completion[i] = layer(x, mine, cache["prompt"][i], write)
            return self.norm(x), cache | {"completion": completion}

        def step(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
            x, all_keys, all_values = carry

            def write(key: Array, value: Array) -> tuple[Any, ...]:
                keys = put(all_keys, key[None], (i, 0, 0, 0, 0, index))
                values = put(all_values, value[None], (i, 0, 0, 0, index, 0))
                return (keys, values), keys[i], values[i]

            mine, prompt = pick(stacked, i), pick(cache["prompt"], i)
            x, written = layer(x, mine, prompt, write)
            return x, *written

        carry = (x, completion["keys"], completion["values"])
        x, keys, values = jax.lax.fori_loop(0, self.config.layers, step, carry)
        completion = {"keys": keys, "values": values}
        return self.norm(x), cache | {"completion": completion}

    def _rope(self, position: Array) -> tuple[Array, Array]:
        c = self.config
        return rope_angles(position, rope_frequencies(c.rope, c.head_dim))
