"""A-GRAE's table on DeepSeek-R1-Distill-Qwen-7B (v3 table 5).

python -m experiments.launch agrae_table4 --scale=cpu [--dry]
python -m experiments.collect agrae_table4 --scale=cpu
"""

from experiments.runs import OWN_REDUCTION, expected, method

RUNS = (
    method("GRPO", "grpo"),
    method("GRPO + A-GRAE", "a_grae"),
    method("DAPO", "dapo"),
    method("DAPO + A-GRAE", "a_grae", base="dapo"),
    method("Dr.GRPO", "dr_grpo", OWN_REDUCTION),
    method("Dr.GRPO + A-GRAE", "a_grae", OWN_REDUCTION, base="dr_grpo"),
)
EXPECTED = expected(
    "a_grae_v3_passk", table="v3 table 5", methods=tuple(r.label for r in RUNS)
)
NOTES = (
    "As published, the authors' code trains plain GRPO under the name of A-GRAE, and"
    " its Dr.GRPO divides by the deviation: see docs/methods.md.",
    "The +- columns of v3 grow with k, those of the later revision do not: they are no"
    " tolerance.",
)
