"""A-GRAE's main table on text: three bases with and without it (v3 table 3).

python -m experiments.launch agrae_table2 --scale=cpu [--dry]
python -m experiments.collect agrae_table2 --scale=cpu
"""

from experiments.runs import OWN_REDUCTION, expected, method

RUNS = (
    method("GRPO", "grpo"),
    method("GRPO + A-GRAE", "a_grae"),
    method("DAPO", "dapo"),
    method("DAPO + A-GRAE", "a_grae", base="dapo"),
    method("Dr.GRPO", "dr_grpo", OWN_REDUCTION),
    method("Dr.GRPO + A-GRAE", "a_grae", OWN_REDUCTION, base="dr_grpo"),
    method("GRPO-LEAD", "grpo_lead"),
    method("W-REINFORCE", "w_reinforce"),
)
EXPECTED = expected(
    "a_grae_v3_passk", table="v3 table 3", methods=tuple(r.label for r in RUNS)
)
NOTES = (
    "As published, the authors' code trains plain GRPO under the name of A-GRAE, and"
    " its Dr.GRPO divides by the deviation: see docs/methods.md.",
    "The +- columns of v3 grow with k, those of the later revision do not: they are no"
    " tolerance.",
)
