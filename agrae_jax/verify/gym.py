"""Scorers of the reasoning-gym package: `pip install agrae_jax[gym]`.

The reference is a JSON object, the entry of the data set without its question:
`{"answer": .., "metadata": {"source_dataset": ..}}`. Some scorers of that package
hand the answer to Python's `eval`; an answer that calls, reaches into or hides
anything is therefore wrong before a scorer sees it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import re
import time
from collections.abc import Callable
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.verify.extract import extract, last_match
from agrae_jax.verify.types import CORRECT, UNGRADABLE, WRONG, Extracted, Verdict

_TAGS = re.compile(r"<answer>\s*(.*?)\s*</answer>", re.S)
_MATHEMATICS = frozenset(
    "sin cos tan sec csc cot asin acos atan sinh cosh tanh exp log ln sqrt pi".split()
)
_CALLED = re.compile(r"([^\W\d]\w*)\s*\(|[)\]}\"']\s*\(")
_CODE = re.compile(r"__|[\w)\]}\"']\.[^\W\d]|\blambda\b|[@`\\]\s*\w+\s*\(|:=")
_MAX_CHARS = 20_000


def available() -> None:
    """Raises UserError where the package is not installed."""
    if importlib.util.find_spec("reasoning_gym") is None:
        raise UserError(
            "verify.verifier='reasoning_gym' needs the package reasoning-gym: "
            "pip install 'agrae_jax[gym]'"
        )


def reasoning_gym(
    text: str, reference: str, *, dataset: str = "", threshold: float = 1.0
) -> Verdict:
    """Correct where the scorer of the entry's data set gives at least `threshold`.

    The answer stands in `<answer>..</answer>`, or where `math` would look for it.
    `dataset` names the data set of entries that do not name their own.
    """
    start = time.perf_counter()
    found = _found(text)
    outcome, reason = _scored(found, reference, dataset, threshold)
    ms = (time.perf_counter() - start) * 1e3
    answer, span = (found.answer, found.span) if found else (None, None)
    return Verdict(outcome, answer, span, "reasoning_gym", reason, ms)


def _found(text: str) -> Extracted | None:
    last = last_match(_TAGS.finditer(text))
    if last is not None:
        return Extracted(last.group(1), last.span(1), "phrase")
    return extract(text)


def _scored(
    found: Extracted | None, reference: str, dataset: str, threshold: float
) -> tuple[str, str]:
    try:
        entry = json.loads(reference)
        name = dataset or entry["metadata"]["source_dataset"]
        entry.setdefault("metadata", {})
        score = _scorer(name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return UNGRADABLE, f"the reference is not understood: {error}"[:200]
    if found is None:
        return WRONG, "no answer found"
    if looks_like_code(found.answer):
        return WRONG, "the answer looks like code"
    value = float(score(found.answer, entry))
    return (CORRECT if value >= threshold else WRONG), f"score {value:g}"


def looks_like_code(answer: str) -> bool:
    """Whether an answer could do more than state a value if it were evaluated."""
    if len(answer) > _MAX_CHARS or _CODE.search(answer):
        return True
    for match in _CALLED.finditer(answer):
        name = match.group(1)
        if name is None or (len(name) > 1 and name not in _MATHEMATICS):
            return True
    return False


@functools.lru_cache(maxsize=256)
def _scorer(name: str) -> Callable[[str, dict[str, Any]], float]:
    return importlib.import_module("reasoning_gym").get_score_answer_fn(name)
