"""A-GRAE's table 1: the controlled experiments, as what they do to a group.

python -m experiments.collect agrae_table1
"""

from experiments import formulas

METHODS = {
    "GRPO": "grpo",
    "Positive-Dominant": "pos_dominant",
    "Negative-Dominant": "neg_dominant",
    "Hard-Focused": "hard_focused",
    "Easy-Focused": "easy_focused",
}


def series() -> dict:
    """Sums of advantages and of their sizes, over G, at every success rate."""
    group = {k: v for k, v in METHODS.items() if not k.endswith("-Focused")}
    sample = {k: v for k, v in METHODS.items() if not k.endswith("-Dominant")}
    return {
        "x": formulas.RATES,
        "xlabel": "success rate p",
        "panels": {
            "group level: sum A / G": {
                label: formulas.mean_sum(name) for label, name in group.items()
            },
            "sample level: sum |A| / G": {
                label: formulas.magnitude(name) for label, name in sample.items()
            },
        },
    }
