"""AsymGRPO's figure 3: the advantage flip test, as we read its name.

python -m experiments.launch asym_figure3 --scale=cpu [--dry]
python -m experiments.collect asym_figure3 --scale=cpu
"""

from experiments.runs import Scale, method

SCALES = {"paper": Scale("configs/qwen3_4b.py", seeds=(0,))}
RUNS = (
    method("GRPO", "asym_grpo", beta_pos=0.5, beta_neg=0.5, clip_high=0.2),
    method("positive flip", "asym_flip_like", flip="positive"),
    method("negative flip", "asym_flip_like", flip="negative"),
)
EXPECTED = []  # curves; the paper prints no cell of them
CURVES = ("entropy", "correct")
NOTES = ("The paper's definition of the flip was not found: experimental.",)
