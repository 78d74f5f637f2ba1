"""A-GRAE's figure 8: training dynamics, entropy and accuracy.

python -m experiments.launch agrae_figure8 --scale=cpu [--dry]
python -m experiments.collect agrae_figure8 --scale=cpu
"""

from experiments.runs import method

RUNS = (method("GRPO", "grpo"), method("GRPO + A-GRAE", "a_grae"))
EXPECTED = []  # curves; the paper prints no cell of them
CURVES = ("entropy", "correct", "advantage_group_sum")
NOTES = (
    "The paper: on the training set GRPO's entropy falls throughout, A-GRAE's drops"
    " fast and then holds; on the test set A-GRAE's first rises, then falls.",
)
