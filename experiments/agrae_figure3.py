"""A-GRAE's figure 3: sample symmetry broken for good, pass@k.

python -m experiments.launch agrae_figure3 --scale=cpu [--dry]
python -m experiments.collect agrae_figure3 --scale=cpu
"""

from experiments.runs import expected, method

RUNS = (
    method("GRPO", "grpo"),
    method("Hard-Focused", "hard_focused"),
    method("Easy-Focused", "easy_focused"),
)
EXPECTED = expected(
    "a_grae_v3_passk",
    table="v3 tables 6",
    methods=("GRPO", "Hard-Focused", "Easy-Focused"),
)
CURVES = ("correct",)  # of the batch: its count of right completions, over all
NOTES = ()
