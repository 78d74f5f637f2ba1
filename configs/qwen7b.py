"""A-GRAE on Qwen2.5-Math-7B and MATH: the paper's recipe.

Command:   python -m agrae_jax.train --config=configs/qwen7b.py \\
               --config.model.path=DIR --workdir=runs/qwen7b
           DIR is the Hugging Face folder of Qwen/Qwen2.5-Math-7B; MATH lies where
           docs/datasets.md says (AGRAE_JAX_DATA=FOLDER).
Methods:   --config.method.name=grpo, dapo, asym_grpo, ..; those with a reduction of
           their own (dr_grpo, also as base) take --config.loss.reduction=none beside.
Hardware:  a TPU slice with 1 TiB of HBM (v5e-64, v6e-64); the paper: 8 x H200
Expected:  140 steps of 1024 prompts; MATH pass@1 78.3, pass@256 96.5 after training
           (the paper's table: temperature .6, top-p .95, 256 samples a question).
           Not run by us at this size.
Source:    A-GRAE, arXiv 2602.05548, its scripts: 1024 prompts x 8 samples, mini-batches
           of 256 prompts, AdamW 1e-6, the method's own clip (.2/.2; DAPO .2/.28), dual
           clip 3, token mean, entropy bonus .001, no KL; greedy validation every 7
           steps. The samples of the final table are `evaluate`'s work.
"""

from configs import base


def get_config():
    """Returns the base config with the recipe of the paper's MATH runs."""
    c = base.get_config()
    c.steps = 140  # 7 a pass over 7,500 problems, 20 passes

    c.model.dtype = "bfloat16"
    c.mesh.tensor = 4  # decoding holds all weights over these devices
    c.data.train = "math"
    c.data.test = "math"
    c.data.template = "qwen"
    c.data.max_prompt_tokens = 1024

    c.rollout.prompts = 1024
    c.rollout.samples = 8
    c.rollout.max_new_tokens = 3072
    c.rollout.wave = 256  # 1024 groups at once would need 1.4 TiB of cache

    c.method.name = "a_grae"  # alpha 1, its default, is the paper's for MATH
    c.loss.dual_clip = 3.0
    c.loss.reduction = "token_mean"
    c.loss.entropy_coef = 0.001
    c.loss.kl_coef = 0.0

    c.optim.learning_rate = 1e-6
    c.optim.beta1 = 0.9
    c.optim.beta2 = 0.999
    c.optim.weight_decay = 0.01
    c.optim.clip_norm = 1.0
    c.optim.mu_dtype = "bfloat16"

    c.updates.mini_batches = 4
    c.updates.epochs = 1
    c.updates.micro_batches = 16  # 16 groups at a time
    c.updates.logprob_chunk = 1024

    c.eval.every = 7
    c.eval.samples = 1
    c.eval.temperature = 0.0  # greedy
    c.checkpoint.every = 7
    return c
