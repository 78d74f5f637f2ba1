"""Qwen2's two sharding tables: Llama's, and the biases."""

from agrae_jax.models.llama import sharding as llama

PARAM_AXES = (
    *llama.PARAM_AXES,
    (r"layers/attention/(query|key|value)/bias", ("layers", "heads", "head_dim")),
)
RULES = llama.RULES
