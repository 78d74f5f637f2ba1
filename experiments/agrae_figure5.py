"""A-GRAE's figure 5: group symmetry broken for good, on Llama-3.2-3B-Instruct.

    python -m experiments.launch agrae_figure5 --scale=paper [--dry]
    python -m experiments.collect agrae_figure5 --scale=paper

At scale cpu it is figure 2.
"""

from experiments.runs import Scale, method

SCALES = {"paper": Scale("configs/llama3b.py", seeds=(0, 1, 2, 3))}
RUNS = (
    method("GRPO", "grpo"),
    method("Positive-Dominant", "pos_dominant"),
    method("Negative-Dominant", "neg_dominant"),
)
EXPECTED = []  # curves; the paper prints no cell of them
CURVES = ("entropy",)
NOTES = (
    "On this model all methods fall below the base model at k = 256;"
    " Negative-Dominant keeps most of it.",
)
