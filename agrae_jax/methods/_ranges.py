"""The range of every numeric keyword of a method: outside it a value has no meaning.

A method's own checks (two keywords against each other, a bound that is left out) come
on top. The upper bounds keep float32 finite; a clip of 1e9 is none, since log-ratios
are held within 20.
"""

from __future__ import annotations

from agrae_jax.errors import UserError

Range = tuple[float, float]

_SHARE: Range = (0, 1)
_CLIP: Range = (0, 1e9)
_COEFFICIENT: Range = (0, 1e6)
_DIVISOR: Range = (1e-6, 1e6)  # what something is divided by
_POWER: Range = (0, 10)  # of the odds of success, up to the size of a group
_ARMS: Range = (2, 1000)  # levels, unrolled

# By keyword, or by method and keyword where a name means different things.
RANGES: dict[str, Range] = {
    "a_grae.alpha": _DIVISOR,
    "arms": _ARMS,
    "asym_flip_like.beta": (1e-6, 10),
    "beta": _DIVISOR,
    "beta_neg": _POWER,
    "beta_pos": _POWER,
    "bonus": _COEFFICIENT,
    "buckets": (1, 1000),  # unrolled
    "cap": (1e-6, 1e9),
    "center": _SHARE,
    "clip_high": _CLIP,
    "clip_low": _CLIP,
    "coef": _COEFFICIENT,
    "correct": (-1000, 1000),
    "ddof": (0, 1),
    "delta": _SHARE,
    "dual_clip": _CLIP,
    "entropy_shaped.alpha": _COEFFICIENT,
    "ep_grpo_like.gamma": (0, 1000),
    "eps": _SHARE,
    "f_grpo.gamma": (0, 1000),
    "floor": (0, 100),  # nats
    "gamma": _DIVISOR,
    "gate_scale": (1e-6, 1e6),
    "grpo_lead.alpha": (0, 10),
    "grpo_lead.low": (0, 1000),
    "grpo_lead.wrong": (-1000, 0),
    "high": (1e-6, 1e9),
    "k": (1, 1024),
    "kappa": _DIVISOR,
    "kl_coef": _COEFFICIENT,
    "low": (1e-6, 1e9),
    "lower": (-1e6, 1e6),
    "max_batches": (1, 1000),
    "max_tokens": (1, 2**20),
    "mix": _SHARE,
    "overlong_cache": (0, 2**20),
    "penalty": _COEFFICIENT,
    "rate": _SHARE,
    "reinforce_pp.gamma": _SHARE,
    "share": _SHARE,
    "slope": (0, 1000),
    "start": _SHARE,
    "target": (0, 100),  # nats
    "tau_neg": (1e-6, 1000),
    "tau_pos": (1e-6, 1000),
    "temperature": (1e-6, 1000),
    "threshold": _SHARE,
    "top_p": (1e-6, 1),
    "updates": (0, 2**20),
    "upper": (-1e6, 1e6),
    "veto_high": _CLIP,
    "veto_low": _SHARE,
    "weight": _COEFFICIENT,
    "wrong": (-1000, 1000),
}


def of(name: str, key: str) -> Range:
    """Returns the range of a numeric keyword of a method; float32's if none is said."""
    return RANGES.get(f"{name}.{key}") or RANGES.get(key, (-1e30, 1e30))


def check(name: str, key: str, value: float) -> None:
    """Raises UserError unless the value lies in the range of its keyword."""
    low, high = of(name, key)
    if not low <= value <= high:
        raise UserError(
            f"method.kwargs.{key} must be from {low} to {high}, not {value}"
        )
