"""The A-GRAE recipe on Qwen2.5-7B, the general base model.

Command:   python -m agrae_jax.train --config=configs/qwen7b_base.py \\
               --config.model.path=DIR --workdir=runs/qwen7b_base
           DIR is the Hugging Face folder of Qwen/Qwen2.5-7B; data as in qwen7b.py.
Hardware:  as qwen7b.py
Expected:  140 steps; the cells for this model are in a later revision of the A-GRAE
           paper, and AsymGRPO (arXiv 2604.04894) has it as a third backbone. Not run
           by us.
Source:    as qwen7b.py; the scripts differ by model only in the path
"""

from configs import qwen7b


def get_config():
    """Returns the recipe of qwen7b.py: only the folder differs."""
    c = qwen7b.get_config()
    return c
