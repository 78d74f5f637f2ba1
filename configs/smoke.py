"""The whole job in seconds, on a random model: for tests and first looks.

Command:   python -m agrae_jax.train --config=configs/smoke.py --workdir=runs/smoke
Hardware:  one CPU core, under a minute
Expected:  exit code 0 and a complete run directory. The tiny tokenizer has whole
           boxed digits as single tokens, so that even a random model is right now and
           then and the gradient is not zero; nothing is learned in three steps.
Source:    ours
"""

from configs import base


def get_config():
    """Returns the base config with the smallest sizes that use every part."""
    c = base.get_config()
    c.steps = 3

    c.model.path = "random:llama"
    c.model.kwargs.hidden_size = 64
    c.model.kwargs.intermediate_size = 128
    c.model.kwargs.num_hidden_layers = 2
    c.model.kwargs.num_attention_heads = 4
    c.model.kwargs.num_key_value_heads = 2

    c.data.train_kwargs.levels = ("sum_to_9",)
    c.data.train_kwargs.size = 64
    c.data.test_kwargs.levels = ("sum_to_9",)
    c.data.test_kwargs.size = 8

    c.rollout.prompts = 4
    c.rollout.samples = 8
    c.rollout.max_new_tokens = 16

    c.updates.mini_batches = 2
    c.updates.micro_batches = 2
    c.updates.logprob_chunk = 64
    c.optim.learning_rate = 1e-3

    c.verify.workers = 1
    c.eval.samples = 4
    c.eval.greedy = False
    c.checkpoint.every = 1
    return c
