"""Grades a completion against a gold: extract, compare, say which rule decided."""

from __future__ import annotations

import functools
import re
import sys
import time
from typing import Any

from agrae_jax.verify import (
    bases,
    compare,
    normalize,
    numbers,
    parse,
    trees,
    words,
    wrapping,
)
from agrae_jax.verify.exact import Work
from agrae_jax.verify.extract import extract
from agrae_jax.verify.rounding import rounded
from agrae_jax.verify.types import (
    CORRECT,
    UNGRADABLE,
    WRONG,
    NotUnderstood,
    TooBig,
    Undefined,
    Verdict,
)

Node = tuple[Any, ...]
Decision = tuple[str, str, str]  # outcome, rule, reason


def grade(text: str, gold: str, *, strict: bool = True, rounding: int = 0) -> Verdict:
    """Grades one completion in this process; see docs/verifier.md for the rules.

    `strict=False` takes the last number of a text without a marked answer.
    `rounding` > 0 also takes decimals of so many significant digits or more that are
    correctly rounded.
    """
    start = time.perf_counter()
    found = extract(text, strict=strict)
    answer = found.answer if found else None
    outcome, rule, reason = judge(gold, answer, rounding)
    ms = (time.perf_counter() - start) * 1e3
    return Verdict(outcome, answer, found.span if found else None, rule, reason, ms)


def judge(gold: str, answer: str | None, rounding: int = 0) -> Decision:
    """Decides a gold and an extracted answer, None where there was none."""
    decision = quick(gold, answer) or decide(gold, answer or "")
    if rounding and answer is not None and decision[0] == WRONG:
        if decision[1] in _ROUNDABLE and rounded(gold, answer, rounding):
            return CORRECT, "rounding", "equal after rounding"
    return decision


def quick(gold: str, answer: str | None) -> Decision | None:
    """Decides what needs no parser: no answer, an empty gold, two ordinary numbers."""
    if not gold.strip():
        return UNGRADABLE, "gold", "the gold is empty"
    if answer is None:
        return WRONG, "extraction", "no answer found"
    wanted = _gold_number(gold)
    if wanted is None:
        return None
    given = numbers.ordinary(answer)
    if given is None:
        return None
    if given == wanted:
        return CORRECT, "number", "equal"
    return WRONG, "number", "another number"


_gold_number = functools.lru_cache(maxsize=4096)(numbers.ordinary)


def decide(gold: str, answer: str) -> Decision:
    """Decides a gold and an answer by the full rules, within a fixed amount of work."""
    try:
        return _decide(gold, answer)
    except MemoryError:
        raise  # the worker that ran out of it says so and ends
    except Exception as error:  # a fault of the grader is never a wrong answer
        return UNGRADABLE, "error", f"{type(error).__name__}: {error}"[:200]


def _decide(gold: str, answer: str) -> Decision:
    if len(answer) > 30 * normalize.MAX_CHARS and answer.strip() != gold.strip():
        return _long(gold, answer)
    wanted, given = normalize.clean(gold), normalize.clean(answer)
    if words.is_placeholder(given) and not words.is_placeholder(wanted):
        return WRONG, "extraction", "an empty answer"
    if not wanted:
        return UNGRADABLE, "gold", "the gold is empty"
    if normalize.squash(wanted) == normalize.squash(given):
        return CORRECT, "text", "the same text"
    if len(given) > normalize.MAX_CHARS or len(wanted) > normalize.MAX_CHARS:
        return _long(wanted, given)
    letter = words.option(wanted)
    if letter:
        chosen = words.chosen(given)
        if chosen or len(letter) == 1 and letter in "ABCDE":
            return _said(chosen == letter, "choice", "another option")
    else:
        given = wrapping.unlabelled(given)
    if words.is_time(wanted):
        return _said(words.same_time(wanted, given), "time", "another time")
    if words.is_words(wanted):
        number = words.count(wanted)
        if number is not None and numbers.ordinary(given) == number:
            return CORRECT, "number word", "equal"
        return _said(words.same_words(wanted, given), "words", "other words")
    number = words.count(given)
    if number is not None:
        given = str(number)
    return _mathematics(wanted, given)


def _said(equal: bool, rule: str, otherwise: str) -> Decision:
    return (CORRECT, rule, "equal") if equal else (WRONG, rule, otherwise)


def _long(gold: str, answer: str) -> Decision:
    """Texts too long to parse: decimals digit by digit, all else as text."""
    keys = numbers.digits_key(gold.strip()), numbers.digits_key(answer.strip())
    if keys[0] is not None and keys[0] == keys[1]:
        return CORRECT, "digits", "equal"
    return WRONG, "length", "longer than any answer"


@functools.lru_cache(maxsize=1024)
def _parsed(gold: str) -> Node | str:
    """The tree of a gold, or why there is none; G samples share one gold."""
    try:
        return parse.parse(gold)
    except (NotUnderstood, RecursionError) as error:
        return str(error) or "nested too deep"


def _mathematics(gold: str, answer: str) -> Decision:
    keys = numbers.digits_key(gold), numbers.digits_key(answer)
    if keys[0] is not None and keys[1] is not None:
        return _said(keys[0] == keys[1], "digits", "another number")
    if "_" in gold or "_" in answer:
        gold, answer = _numerals(gold, answer), _numerals(answer, gold)
    target = _parsed(gold)
    if isinstance(target, str):
        return UNGRADABLE, "gold", f"the gold is not understood: {target}"
    letters, lone_units = trees.letters(target), trees.contains(target, "qty")
    rule, reason = "value", "another value"
    for thousands in (True, False):  # for a gold list, 1,200 may be two items
        if not thousands and (target[0] != "list" or "," not in answer):
            break
        try:
            node = parse.parse(
                answer, letters=letters, thousands=thousands, lone_units=lone_units
            )
            equal, rule = compare.compare(target, node, Work())
        except (NotUnderstood, Undefined, TooBig, RecursionError) as error:
            rule, reason = _RULES[type(error)], str(error) or "nested too deep"
            continue
        if equal:
            return CORRECT, rule, "equal"
        reason = "another value"
    return WRONG, rule, reason


def _numerals(text: str, other: str) -> str:
    """AB_{16} as 171 where the other side is a number; else it stays a name."""
    value = bases.of_letters(text)
    if value is None or re.search("[A-Za-z_]", _NUMBER_MACRO.sub("", other)):
        return text
    return str(value)


_NUMBER_MACRO = re.compile(r"\\(?:[dtc]?frac|times|cdot)(?![a-zA-Z])")
_ROUNDABLE = frozenset(("number", "digits", "value"))
_RULES = {
    NotUnderstood: "not understood",
    Undefined: "undefined",
    TooBig: "too big",
    RecursionError: "too big",
}


def kind_of(gold: str) -> str:
    """What a gold is: "number", "choice", "time", "words", the tag of its tree.

    Raises NotUnderstood for a gold that can only be compared as text.
    """
    if numbers.ordinary(gold) is not None:
        return "number"
    wanted = normalize.clean(gold)
    if not wanted:
        raise NotUnderstood("empty")
    if words.option(wanted):
        return "choice"
    if words.is_time(wanted):
        return "time"
    if words.is_words(wanted):
        return "words"
    target = _parsed(wanted)
    if isinstance(target, str):
        raise NotUnderstood(target)
    return _KINDS.get(target[0], "expression")


_KINDS = {
    "list": "list", "set": "set", "bracket": "tuple or interval", "union": "region",
    "rel": "relation", "ratio": "ratio", "matrix": "matrix", "qty": "quantity",
    "pct": "percent",
}  # fmt: skip


def prepare_process() -> None:
    """Limits of a process that grades: deep trees and long integers are allowed."""
    sys.setrecursionlimit(6_000)
    sys.set_int_max_str_digits(20_000)
