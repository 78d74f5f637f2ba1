"""AsymGRPO or A-GRAE on Qwen2.5-Math-1.5B and MATH.

Command:   python -m agrae_jax.train --config=configs/qwen_math_1_5b.py \\
               --config.model.path=DIR --workdir=runs/qwen_math_1_5b
           DIR is the Hugging Face folder of Qwen/Qwen2.5-Math-1.5B; data as in
           qwen7b.py; --config.method.name=a_grae for the other paper.
Hardware:  20 GiB for parameters, moments and gradients, the cache beside them; the
           paper: 4 x H100
Expected:  the curves of AsymGRPO's figure 2, top row. Not run by us.
Source:    AsymGRPO, arXiv 2604.04894, section on the setup: verl, MATH train, G 8. It
           gives batch 128, mini-batch 64 and rate 2e-6 for Qwen3-4B alone; batches
           are taken from there and the rate from the A-GRAE scripts (1e-6), a guess
           that this line is here to confess. Its KL and entropy coefficients are not
           stated: both are 0.
"""

from configs import qwen7b


def get_config():
    """Returns qwen7b.py with AsymGRPO's batches."""
    c = qwen7b.get_config()
    c.steps = 58  # one pass over 7,500 problems
    c.method.name = "asym_grpo"
    c.mesh.tensor = 2  # the model has two key heads
    c.data.test = "math500"
    c.rollout.prompts = 128
    c.rollout.wave = 0
    c.updates.mini_batches = 2
    c.updates.micro_batches = 4
    c.loss.entropy_coef = 0.0
    c.eval.every = 10
    c.checkpoint.every = 10
    c.checkpoint.best = "avg@n"  # the paper takes the best on MATH-500
    return c
