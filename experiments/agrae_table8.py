"""A-GRAE's table 8: the sensitivity to alpha.

python -m experiments.launch agrae_table8 --scale=cpu [--dry]
python -m experiments.collect agrae_table8 --scale=cpu
"""

from experiments.runs import expected, method

ALPHAS = (0.25, 0.5, 1, 2, 5)
RUNS = (
    method("GRPO", "grpo"),
    *(method(f"alpha {a}", "a_grae", alpha=a) for a in ALPHAS),
)
EXPECTED = expected(
    "a_grae_alpha",
    table="later revision table 8",
    methods=("GRPO", *(f"alpha {a}" for a in ALPHAS)),
)
NOTES = (
    "Above 1, alpha always damps positive advantages; v3 states alpha <= 1.",
    "GRPO's AMC23 pass@1 is 59.2 here and 60.2 in the main table.",
)
