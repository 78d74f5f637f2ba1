"""The families by Hugging Face's model_type: what each folder gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.models.decoder_config import DecoderConfig
from agrae_jax.models.llama import config as llama_config
from agrae_jax.models.llama import convert as llama_convert
from agrae_jax.models.llama import model as llama_model
from agrae_jax.models.llama import sharding as llama_sharding
from agrae_jax.models.qwen2 import config as qwen2_config
from agrae_jax.models.qwen2 import convert as qwen2_convert
from agrae_jax.models.qwen2 import model as qwen2_model
from agrae_jax.models.qwen2 import sharding as qwen2_sharding
from agrae_jax.models.qwen3 import config as qwen3_config
from agrae_jax.models.qwen3 import convert as qwen3_convert
from agrae_jax.models.qwen3 import model as qwen3_model
from agrae_jax.models.qwen3 import sharding as qwen3_sharding


@dataclasses.dataclass(frozen=True)
class Family:
    """A family's module class, config reader, name mapping and sharding tables.

    `architecture` is transformers' class of it, which a written folder names.
    """

    architecture: str
    module: Any
    read_config: Callable[[Mapping[str, Any]], DecoderConfig]
    mapping: tuple[tuple[str, str, int], ...]
    param_axes: tuple[tuple[str, tuple[str, ...]], ...]
    rules: Mapping[str, Mapping[str, str | None]]


FAMILIES = {
    "llama": Family(
        architecture="LlamaForCausalLM",
        module=llama_model.Llama,
        read_config=llama_config.read_config,
        mapping=llama_convert.MAPPING,
        param_axes=llama_sharding.PARAM_AXES,
        rules=llama_sharding.RULES,
    ),
    "qwen2": Family(
        architecture="Qwen2ForCausalLM",
        module=qwen2_model.Qwen2,
        read_config=qwen2_config.read_config,
        mapping=qwen2_convert.MAPPING,
        param_axes=qwen2_sharding.PARAM_AXES,
        rules=qwen2_sharding.RULES,
    ),
    "qwen3": Family(
        architecture="Qwen3ForCausalLM",
        module=qwen3_model.Qwen3,
        read_config=qwen3_config.read_config,
        mapping=qwen3_convert.MAPPING,
        param_axes=qwen3_sharding.PARAM_AXES,
        rules=qwen3_sharding.RULES,
    ),
}


def find(model_type: str | None) -> Family:
    """The family of a `config.json`'s model_type; raises `UserError` if unknown."""
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise UserError(
            f"model config: model_type {model_type!r} is not known; known: {known}"
        )
    return FAMILIES[model_type]
