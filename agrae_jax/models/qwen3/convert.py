"""Qwen3's parameters under Hugging Face's names: Llama's, and the two norms."""

from agrae_jax.models.llama import convert as llama
from agrae_jax.models.weights import Mapping

MAPPING: Mapping = (
    *llama.MAPPING,
    ("layers/attention/query_norm/scale", "model.layers.{}.self_attn.q_norm.weight", 0),
    ("layers/attention/key_norm/scale", "model.layers.{}.self_attn.k_norm.weight", 0),
)
