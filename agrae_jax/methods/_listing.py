"""What every method says of itself: one line each, or a table in Markdown."""

from __future__ import annotations

from typing import Any, cast

from agrae_jax import methods
from agrae_jax.types import Method

# Part of the record -> what it is called in docs/architecture.md.
_SLOTS = {
    "reward": "reward",
    "base": "base",
    "shapers": "shapers",
    "credit": "credit",
    "token_mask": "token_mask",
    "token_select": "token_select",
    "token_statistic": "token_statistic",
    "surrogate": "surrogate",
    "reduction": "reduction",
    "regularizers": "regularizers",
    "importance": "importance",
    "select": "select",
    "update_state": "state",
    "refill": "refill",
    "curriculum": "curriculum",
    "schedule": "schedule",
}


def lines() -> tuple[list[str], int]:
    """One line a method: name, status, paper; and how many files could not be read."""
    out: list[str] = []
    broken = 0
    for name in methods.names():
        try:
            method = methods.resolve(name)
            out.append(f"{name:24} {method.status:14} {method.paper}")
        except Exception as error:  # whatever a method's file may do wrong
            broken += 1
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            out.append(f"{name:24} {'broken':14} {said}")
    return out, broken


def markdown() -> str:
    """The table of docs/methods.md."""
    rows = ["| method | paper | what it changes | parts | keywords | status |"]
    rows.append("|---|---|---|---|---|---|")
    plain = methods.resolve("grpo")
    for name in methods.names():
        method = methods.resolve(name)
        cells = (
            f"`--config.method.name={name}`",
            method.paper,
            method.formula.replace("|", "\\|"),
            ", ".join(slots(method, plain)) or "all",
            ", ".join(f"`{k}={v}`" for k, v in _keywords(name)) or "none",
            method.status,
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def slots(method: Method, plain: Method) -> list[str]:
    """Names of the parts in which `method` is not `plain`."""
    return [
        name
        for part, name in _SLOTS.items()
        if _shape(getattr(method, part)) != _shape(getattr(plain, part))
    ]


def _keywords(name: str) -> list[tuple[str, Any]]:
    return list(methods.signature_defaults(name).items())


def _shape(part: Any) -> Any:
    """What a part is, comparable: a partial is its function and its keywords."""
    if isinstance(part, tuple):
        return tuple(_shape(x) for x in cast("tuple[object, ...]", part))
    keywords = getattr(part, "keywords", None)
    if keywords is None:
        return part
    return part.func, tuple((k, _shape(v)) for k, v in sorted(keywords.items()))
