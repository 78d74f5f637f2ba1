"""Llama's parameters under Hugging Face's names: one table for both directions."""

from agrae_jax.models.weights import Mapping

MAPPING: Mapping = (
    ("embedding", "model.embed_tokens.weight", 0),
    ("layers/attention_norm/scale", "model.layers.{}.input_layernorm.weight", 0),
    ("layers/attention/query/kernel", "model.layers.{}.self_attn.q_proj.weight", 1),
    ("layers/attention/key/kernel", "model.layers.{}.self_attn.k_proj.weight", 1),
    ("layers/attention/value/kernel", "model.layers.{}.self_attn.v_proj.weight", 1),
    ("layers/attention/out/kernel", "model.layers.{}.self_attn.o_proj.weight", 2),
    ("layers/mlp_norm/scale", "model.layers.{}.post_attention_layernorm.weight", 0),
    ("layers/mlp/gate/kernel", "model.layers.{}.mlp.gate_proj.weight", 1),
    ("layers/mlp/up/kernel", "model.layers.{}.mlp.up_proj.weight", 1),
    ("layers/mlp/down/kernel", "model.layers.{}.mlp.down_proj.weight", 1),
    ("norm/scale", "model.norm.weight", 0),
    ("head/kernel", "lm_head.weight", 1),  # absent where tied
)
