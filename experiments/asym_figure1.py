"""AsymGRPO's figure 1: advantage magnitudes of the family of eq. 5.

python -m experiments.collect asym_figure1
"""

from experiments import formulas

BETAS = (0.0, 0.25, 0.5, 0.75, 0.9)


def series() -> dict:
    """|A| of a right and of a wrong completion, for several exponents."""

    def made(beta: float) -> dict:
        return {"beta_pos": beta, "beta_neg": beta}

    return {
        "x": formulas.RATES,
        "xlabel": "group accuracy p",
        "log_y": True,
        "panels": {
            "successful: ((1 - p) / p)^beta": {
                f"beta {b}": formulas.of_right("asym_grpo", **made(b)) for b in BETAS
            },
            "failed: (p / (1 - p))^beta": {
                f"beta {b}": [-a for a in formulas.of_wrong("asym_grpo", **made(b))]
                for b in BETAS
            },
        },
    }
