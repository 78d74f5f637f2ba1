"""The A-GRAE recipe on DeepSeek-R1-Distill-Qwen-7B.

Command:   python -m agrae_jax.train --config=configs/deepseek_r1_7b.py \\
               --config.model.path=DIR --workdir=runs/deepseek_r1_7b
           DIR is the Hugging Face folder of deepseek-ai/DeepSeek-R1-Distill-Qwen-7B;
           data as in qwen7b.py.
Hardware:  as qwen7b.py
Expected:  MATH pass@1 92.9, pass@256 99.3; AIME25 29.6 and 74.3; AMC23 84.2 and 100.0
           (the paper's table). Not run by us.
Source:    as qwen7b.py. The paper's scripts of this model point at Qwen2.5-Math-7B, so
           its template is not known: the model's own is taken, with the sentence that
           the others get.
"""

from configs import qwen7b


def get_config():
    """Returns the recipe of qwen7b.py with the model's own chat template."""
    c = qwen7b.get_config()
    c.data.template = "chat"
    c.data.system = (
        "Please reason step by step, and put your final answer within \\boxed{}."
    )
    return c
