"""A-GRAE's figure 4: update magnitude against difficulty (theorem 2).

    python -m experiments.collect agrae_figure4

GRPO's is 2 sqrt(p (1 - p)), largest at p = 1/2; the sample level alone has
omega sqrt(1 - p) + (1 - omega) sqrt(p), largest at (1 - omega)^2 / (omega^2 +
(1 - omega)^2).
"""

from experiments import formulas


def series() -> dict:
    """sum |A| / G at every success rate."""
    lines = {"GRPO": formulas.magnitude("grpo")}
    for omega in (0.1, 0.3, 0.5, 0.7, 0.9):
        lines[f"sample level, omega {omega}"] = formulas.magnitude(
            "a_grae", omega=omega, group_level=False
        )
    return {
        "x": formulas.RATES,
        "xlabel": "success rate p",
        "panels": {"update magnitude: sum |A| / G": lines},
    }
