"""The verifiers by name, all `(text, reference) -> Verdict`.

"math" is the full grader, "gsm8k" compares the number after `####`, "choice" an
option letter, "geo3k" asks for `<think>..</think>..\\boxed{..}`, "reasoning_gym" has
the scorers of that package, and "package.module:function" calls that function with the
same two strings. Such a function returns a Verdict, or a bool. Keyword arguments come
from `verify.kwargs`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
import time
from collections.abc import Callable
from typing import Any

from agrae_jax.errors import UserError
from agrae_jax.verify import gym, numbers, symbolic, words
from agrae_jax.verify.extract import extract
from agrae_jax.verify.grade import grade, judge
from agrae_jax.verify.types import CORRECT, UNGRADABLE, WRONG, Extracted, Verdict

Verifier = Callable[[str, str], Verdict]

_RANGES: dict[str, tuple[float, float]] = {
    "rounding": (0, 1000),  # digits; 0 = off
    "threshold": (0.001, 1),  # of a score
}
_ANY = (-1e30, 1e30)
_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_HASHES = re.compile(r"(?:####|^A:)[ \t]*([^\n]*)", re.M)


def resolve(name: str, /, **kwargs: Any) -> Verifier:
    """Returns the verifier of a name with its keyword arguments.

    Raises UserError for an unknown name or keyword, and for a value of another type
    than the default's or out of its range.
    """
    known = arguments(name)
    for key, value in kwargs.items():
        if key not in known:
            raise UserError(
                f"verify.kwargs.{key} is unknown to the verifier {name!r}: it takes "
                f"{', '.join(known) or 'none'}"
            )
        if not _is_like(value, known[key]):
            raise UserError(
                f"verify.kwargs.{key} = {value!r} must be a"
                f" {type(known[key]).__name__}, like {known[key]!r}"
            )
        low, high = _RANGES.get(key, _ANY) if name in _NAMED else _ANY
        if isinstance(value, float | int) and not low <= value <= high:
            raise UserError(
                f"verify.kwargs.{key} must be from {low} to {high}, not {value}"
            )
    return functools.partial(_function(name), **kwargs)


def arguments(name: str) -> dict[str, Any]:
    """The keyword arguments of a verifier and their defaults, for `verify.kwargs`.

    Raises UserError for a verifier that is unknown or cannot be loaded.
    """
    if name == "reasoning_gym":
        gym.available()
    try:
        parameters = list(inspect.signature(_function(name)).parameters.values())
    except (ValueError, TypeError):  # of builtins, which do not say what they take
        parameters = []
    texts, rest = parameters[:2], parameters[2:]
    if (
        len(texts) < 2
        or any(p.kind not in _POSITIONAL for p in texts)
        or any(p.default is p.empty for p in rest)
    ):
        raise UserError(
            f"verify.verifier={name} must take (text, reference) and keyword arguments "
            "with defaults"
        )
    return {p.name: p.default for p in rest}


def _is_like(value: Any, default: Any) -> bool:
    """Whether a value has the type of a default; None says nothing of it."""
    if default is None or type(value) is type(default):
        return True
    return isinstance(default, float) and type(value) is int


@functools.lru_cache(maxsize=64)
def _function(name: str) -> Verifier:
    if ":" in name:
        return _from_path(name)
    if name not in _NAMED:
        raise UserError(
            f"verify.verifier={name!r} is unknown: use one of "
            f"{', '.join(_CHOICES)} or package.module:function"
        )
    return _NAMED[name]


def given(text: str, reference: str, *, rounding: int = 0) -> Verdict:
    """As "math", for a text that is the extracted answer already."""
    start = time.perf_counter()
    outcome, rule, reason = judge(reference, text, rounding)
    ms = (time.perf_counter() - start) * 1e3
    return Verdict(outcome, None, None, rule, reason, ms)


def gsm8k(text: str, reference: str) -> Verdict:
    """The number after the last `####`, else the answer as `math` finds it.

    The reference may be a whole GSM8K solution that ends in `#### 42`.
    """
    marked = _HASHES.findall(reference)
    gold = (marked[-1] if marked else reference).strip()
    found = None
    for match in _HASHES.finditer(text):
        found = Extracted(match.group(1).strip(), match.span(1), "phrase")
    found = found or extract(text)
    return _decided(found, gold, lambda answer: _same_number(gold, answer), "gsm8k")


def _same_number(gold: str, answer: str) -> bool | None:
    wanted, given = (numbers.ordinary(t.strip("$ %")) for t in (gold, answer))
    if wanted is None:
        return None
    return given == wanted if given is not None else grade(
        f"\\boxed{{{answer}}}", gold
    ).correct  # fmt: skip


def choice(text: str, reference: str) -> Verdict:
    """Exactly one option letter, the reference's."""
    letter = words.chosen(reference)
    found = extract(text)
    return _decided(
        found, letter or "", lambda answer: words.chosen(answer) == letter, "choice"
    )


def geo3k_format(text: str) -> bool:
    r"""Whether a completion is `<think>..</think>` and then a `\boxed{..}` (EasyR1)."""
    text = text.strip()
    thought = text.find("</think>")
    box = text.find("\\boxed{", thought)
    return text.startswith("<think>") and min(thought, box, text.find("}", box)) > 0


def geo3k(text: str, reference: str) -> Verdict:
    """Accuracy as `math` has it, and the format of Geometry3K.

    A-GRAE trains that task on 0.9 * accuracy + 0.1 * format (its paper prints the
    weights the other way round): `verify.format_weight=0.1`.
    """
    return dataclasses.replace(grade(text, reference), format_ok=geo3k_format(text))


def math_verify(text: str, reference: str) -> Verdict:
    """math-verify as it is: the second path of an audit, never a reward."""
    start = time.perf_counter()
    outcome = symbolic.second_opinion(text, reference)
    ms = (time.perf_counter() - start) * 1e3
    return Verdict(outcome, None, None, "math-verify", "", ms)


def _decided(
    found: Extracted | None,
    gold: str,
    same: Callable[[str], bool | None],
    rule: str,
) -> Verdict:
    start = time.perf_counter()
    if not gold:
        outcome, reason = UNGRADABLE, "the reference is not understood"
    elif found is None:
        outcome, reason = WRONG, "no answer found"
    else:
        equal = same(found.answer)
        if equal is None:
            outcome, reason = UNGRADABLE, "the reference is not understood"
        else:
            outcome = CORRECT if equal else WRONG
            reason = "equal" if equal else "another value"
    ms = (time.perf_counter() - start) * 1e3
    answer, span = (found.answer, found.span) if found else (None, None)
    return Verdict(outcome, answer, span, rule, reason, ms)


def _from_path(path: str) -> Verifier:
    module, _, name = path.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever the module does when it is imported
        raise UserError(
            f"verify.verifier={path} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(function):
        raise UserError(f"verify.verifier={path} is no function")

    @functools.wraps(function)
    def call(text: str, reference: str, **kwargs: Any) -> Verdict:
        start = time.perf_counter()
        result = function(text, reference, **kwargs)
        if isinstance(result, Verdict):
            return result
        if not isinstance(result, bool):
            raise TypeError(f"{path} returned {type(result).__name__}, not bool")
        ms = (time.perf_counter() - start) * 1e3
        return Verdict(CORRECT if result else WRONG, None, None, path, "", ms)

    return call


_NAMED: dict[str, Verifier] = {
    "math": grade,
    "answer": given,
    "math-verify": math_verify,
    "gsm8k": gsm8k,
    "choice": choice,
    "geo3k": geo3k,
    "reasoning_gym": gym.reasoning_gym,
}
_CHOICES = [name for name in _NAMED if name != "answer"]
