"""Qwen2's parameters under Hugging Face's names: Llama's, and the biases."""

from agrae_jax.models.llama import convert as llama
from agrae_jax.models.weights import Mapping

MAPPING: Mapping = (
    *llama.MAPPING,
    ("layers/attention/query/bias", "model.layers.{}.self_attn.q_proj.bias", 0),
    ("layers/attention/key/bias", "model.layers.{}.self_attn.k_proj.bias", 0),
    ("layers/attention/value/bias", "model.layers.{}.self_attn.v_proj.bias", 0),
)
