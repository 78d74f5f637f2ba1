"""AsymGRPO or A-GRAE on Qwen3-4B without thinking, and MATH.

Command:   python -m agrae_jax.train --config=configs/qwen3_4b.py \\
               --config.model.path=DIR --workdir=runs/qwen3_4b
           DIR is the Hugging Face folder of Qwen/Qwen3-4B; data as in qwen7b.py;
           --config.method.name=a_grae for the other paper.
Hardware:  53 GiB for parameters, moments and gradients, the cache beside them; the
           paper: 4 x H100
Expected:  AsymGRPO's table 2: MATH-500 88.2 with GRPO (avg over samples at temperature
           .4). Not run by us.
Source:    AsymGRPO, arXiv 2604.04894: global batch 128, mini-batch 64, length 4096,
           rate 2e-6, G 8, best setting beta_pos .9, beta_neg .4. KL and entropy
           coefficients are not stated: both are 0. How 4096 is split between prompt
           and completion is not stated either: 1024 + 3072, as in the A-GRAE scripts.
"""

from configs import qwen7b


def get_config():
    """Returns qwen7b.py with AsymGRPO's batches, rate and template."""
    c = qwen7b.get_config()
    c.steps = 58  # one pass over 7,500 problems
    c.method.name = "asym_grpo"
    c.data.template = "qwen3_no_thinking"
    c.data.test = "math500"
    c.rollout.prompts = 128
    c.rollout.wave = 0
    c.updates.mini_batches = 2
    c.updates.micro_batches = 4
    c.optim.learning_rate = 2e-6
    c.loss.entropy_coef = 0.0
    c.eval.every = 10
    c.checkpoint.every = 10
    c.checkpoint.best = "avg@n"  # the paper takes the best on MATH-500
    return c
