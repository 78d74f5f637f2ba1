"""AsymGRPO's table 2, Qwen3-4B: its baselines and its best setting.

python -m experiments.launch asym_table2 --scale=cpu [--dry]
python -m experiments.collect asym_table2 --scale=cpu
"""

from experiments.runs import OWN_REDUCTION, Scale, expected, method

SCALES = {"paper": Scale("configs/qwen3_4b.py", seeds=(0,))}
BASELINES = (
    method("REINFORCE", "reinforce"),
    method("GRPO", "grpo"),
    method("GRPO + entropy regularization", "entropy_bonus"),
    method("GRPO + clip-higher", "grpo", clip_high=0.28),
    method("Dr.GRPO", "dr_grpo", OWN_REDUCTION),
)
RUNS = (*BASELINES, method("AsymGRPO", "asym_grpo"))
EXPECTED = expected(
    "asym_table2", table="v2 table 2", methods=tuple(run.label for run in BASELINES)
)
NOTES = (
    "The page at hand has the baselines' cells; those of AsymGRPO are not on it.",
    "The paper's average@n (n = 5 or 10, temperature .4) is written as pass@1.",
    "The baselines' entropy coefficient is not stated: 0.01 is ours.",
)
