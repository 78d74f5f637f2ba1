"""A-GRAE's figure 1: the two symmetries of GRPO's advantages, and both broken.

python -m experiments.collect agrae_figure1
"""

from experiments import formulas


def series() -> dict:
    """The sum of a group's advantages, and of their sizes, over G."""
    lines = {"GRPO": ("grpo", {})}
    for omega in (0.1, 0.5, 0.9):
        lines[f"A-GRAE, omega {omega}"] = ("a_grae", {"omega": omega})
    return {
        "x": formulas.RATES,
        "xlabel": "success rate p",
        "panels": {
            "group level: sum A / G": {
                label: formulas.mean_sum(name, **kwargs)
                for label, (name, kwargs) in lines.items()
            },
            "sample level: sum |A| / G": {
                label: formulas.magnitude(name, **kwargs)
                for label, (name, kwargs) in lines.items()
            },
        },
    }
