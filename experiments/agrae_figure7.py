"""A-GRAE's figure 7: the collapse of Negative-Dominant, and that of A-GRAE's level.

python -m experiments.launch agrae_figure7 --scale=cpu [--dry]
python -m experiments.collect agrae_figure7 --scale=cpu
"""

from experiments.runs import method

RUNS = (
    method("GRPO", "grpo"),
    method("Negative-Dominant", "neg_dominant"),
    method("group level (ASS)", "a_grae", sample_level=False),
)
EXPECTED = []  # curves; the paper prints no cell of them
CURVES = ("epoch_unsolved", "none_solved", "correct")
NOTES = (
    "The paper: Negative-Dominant collapsed in 3 of 10 runs, after about step 78, with"
    " more than 110 problems unsolved; the group level in none of 10.",
)
