"""A-GRAE's figure 2: group symmetry broken for good, pass@k and entropy.

python -m experiments.launch agrae_figure2 --scale=cpu [--dry]
python -m experiments.collect agrae_figure2 --scale=cpu
"""

from experiments.runs import expected, method

RUNS = (
    method("GRPO", "grpo"),
    method("Positive-Dominant", "pos_dominant"),
    method("Negative-Dominant", "neg_dominant"),
)
EXPECTED = expected(
    "a_grae_v3_passk",
    table="v3 tables 6",
    methods=("GRPO", "Positive-Dominant", "Negative-Dominant"),
)
CURVES = ("entropy",)
NOTES = (
    "The AMC23 row of Positive-Dominant equals GRPO's in all nine columns.",
    "The later revision's table 6 has GRPO 92.4 and Negative-Dominant 94.5 at k = 256"
    " on MATH, the ablation 95.0 and 97.0.",
    "Negative-Dominant collapsed in 3 of the paper's 10 runs, after about step 78.",
)
