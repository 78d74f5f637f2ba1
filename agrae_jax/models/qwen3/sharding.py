"""Qwen3's two sharding tables: Llama's, and the norms of queries and keys."""

from agrae_jax.models.llama import sharding as llama

PARAM_AXES = (
    *llama.PARAM_AXES,
    (r"layers/attention/(query|key)_norm/scale", ("layers", "norm")),
)
RULES = llama.RULES
