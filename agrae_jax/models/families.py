"""The families by Hugging Face's model_type: what each folder gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import agrae_jax.models.llama.config
import agrae_jax.models.llama.convert
import agrae_jax.models.llama.model
import agrae_jax.models.llama.sharding
import agrae_jax.models.qwen2.config
import agrae_jax.models.qwen2.convert
import agrae_jax.models.qwen2.model
import agrae_jax.models.qwen2.sharding
from agrae_jax.errors import UserError
from agrae_jax.models import llama, qwen2
from agrae_jax.models.decoder_config import DecoderConfig


@dataclasses.dataclass(frozen=True)
class Family:
    """A family's module class, config reader, name mapping and sharding tables."""

    module: Any
    read_config: Callable[[Mapping[str, Any]], DecoderConfig]
    mapping: tuple[tuple[str, str, int], ...]
    param_axes: tuple[tuple[str, tuple[str, ...]], ...]
    rules: Mapping[str, Mapping[str, str | None]]


def _family(folder: Any, module: Any) -> Family:
    return Family(
        module=module,
        read_config=folder.config.read_config,
        mapping=folder.convert.MAPPING,
        param_axes=folder.sharding.PARAM_AXES,
        rules=folder.sharding.RULES,
    )


FAMILIES = {
    "llama": _family(llama, llama.model.Llama),
    "qwen2": _family(qwen2, qwen2.model.Qwen2),
}


def find(model_type: str | None) -> Family:
    """The family of a `config.json`'s model_type; raises `UserError` if unknown."""
    if model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise UserError(
            f"model config: model_type {model_type!r} is not known; known: {known}"
        )
    return FAMILIES[model_type]
