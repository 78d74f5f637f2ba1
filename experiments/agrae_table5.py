"""A-GRAE's ablation: each level alone and both (table 5; v3 tables 6 and 7).

python -m experiments.launch agrae_table5 --scale=cpu [--dry]
python -m experiments.collect agrae_table5 --scale=cpu
"""

from experiments.runs import expected, method

RUNS = (
    method("GRPO", "grpo"),
    method("sample level (DDAS)", "a_grae", group_level=False),
    method("group level (ASS)", "a_grae", sample_level=False),
    method("full", "a_grae"),
)
EXPECTED = expected(
    "a_grae_v3_passk",
    table="v3 tables 6",
    methods=("GRPO", "sample level (DDAS)", "group level (ASS)", "full"),
)
NOTES = (
    "The ablation prints GRPO's AMC23 pass@1 as 59.2 where the main table has 60.2.",
)
