"""The A-GRAE recipe on Llama-3.2-3B-Instruct.

Command:   python -m agrae_jax.train --config=configs/llama3b.py \\
               --config.model.path=DIR --workdir=runs/llama3b
           DIR is the Hugging Face folder of meta-llama/Llama-3.2-3B-Instruct; data as
           in qwen7b.py.
Hardware:  42 GiB for parameters, moments and gradients, the cache beside them; the
           paper: 8 x H200
Expected:  the curves of the paper's figures 5 and 6 (controlled experiments on group
           and sample level). Not run by us.
Source:    as qwen7b.py, with the scripts' Llama template
"""

from configs import qwen7b


def get_config():
    """Returns the recipe of qwen7b.py with the Llama template."""
    c = qwen7b.get_config()
    c.data.template = "llama"
    return c
