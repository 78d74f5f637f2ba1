"""Arithmetic in plain English: seeded, in named levels, train and test disjoint.

A level is a family of problems of one difficulty for a small language model. The
operands alone decide on which side of the split a problem falls, so no wording of a
test problem is ever seen in training.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from agrae_jax.data.problem import Problem
from agrae_jax.errors import UserError

TEST_SHARE = 5  # one in five of the operand tuples is a test problem


@dataclasses.dataclass(frozen=True)
class Level:
    """How a family draws its operands, words its question and knows the answer."""

    ranges: tuple[tuple[int, int], ...]  # of each operand, both ends included
    answer: Callable[..., int]
    phrasings: tuple[str, ...]
    keep: Callable[..., bool] = lambda *operands: True
    commutes: bool = False  # a + b and b + a are one problem for the split


_ONE, _TWO, _THREE = (1, 9), (10, 99), (100, 999)

_SUM = (
    "What is {0} + {1}?",
    "Compute {0} + {1}.",
    "Add {0} and {1}.",
    "What is the sum of {0} and {1}?",
    "How much is {0} plus {1}?",
    "Calculate {0} plus {1}.",
)
_SUM_OF_THREE = (
    "What is {0} + {1} + {2}?",
    "Compute {0} + {1} + {2}.",
    "Add {0}, {1} and {2}.",
    "What is the sum of {0}, {1} and {2}?",
    "How much is {0} plus {1} plus {2}?",
)
_DIFFERENCE = (
    "What is {0} - {1}?",
    "Compute {0} - {1}.",
    "Subtract {1} from {0}.",
    "How much is {0} minus {1}?",
    "Calculate {0} minus {1}.",
    "What do you get if you take {1} away from {0}?",
)
_PRODUCT = (
    "What is {0} * {1}?",
    "Compute {0} * {1}.",
    "Multiply {0} by {1}.",
    "What is the product of {0} and {1}?",
    "How much is {0} times {1}?",
    "Calculate {0} times {1}.",
)
_BUYS = (
    "Tom has {0} apples and buys {1} more. How many apples does he have now?",
    "Anna has {0} pencils. She gets {1} more from a friend. How many pencils does she"
    " have now?",
    "There are {0} birds on a roof and {1} more join them. How many birds are on the"
    " roof?",
    "A shelf holds {0} books. Sam puts {1} more on it. How many books does it hold"
    " now?",
    "Maria saved {0} dollars and earns {1} dollars more. How many dollars does she"
    " have?",
)
_GIVES = (
    "Tom has {0} apples and gives away {1}. How many apples does he have left?",
    "Anna has {0} pencils and loses {1} of them. How many pencils does she have left?",
    "There are {0} birds on a roof and {1} fly away. How many birds are left?",
    "A shop has {0} lamps and sells {1}. How many lamps are left?",
    "Maria has {0} dollars and spends {1}. How many dollars are left?",
)
_GIVES_BUYS = (
    "Tom has {0} apples, gives away {1}, then buys {2}. How many apples does he have"
    " now?",
    "Anna has {0} pencils. She loses {1} and then finds {2}. How many pencils does she"
    " have now?",
    "A bus carries {0} people. At a stop {1} get off and {2} get on. How many people"
    " are on the bus?",
    "Maria has {0} dollars, spends {1} and then earns {2}. How many dollars does she"
    " have?",
)
_BOXES = (
    "A box holds {0} pens. How many pens are in {1} boxes?",
    "There are {1} rows of {0} chairs. How many chairs are there?",
    "One ticket costs {0} dollars. How many dollars do {1} tickets cost?",
    "Sam reads {0} pages a day. How many pages does he read in {1} days?",
)
_BOXES_LOOSE = (
    "There are {1} boxes with {0} pens each and {2} loose pens. How many pens are"
    " there?",
    "A hall has {1} rows of {0} chairs and {2} more chairs at the back. How many chairs"
    " are there?",
    "Sam buys {1} tickets at {0} dollars each and a drink for {2} dollars. How many"
    " dollars does he pay?",
)


def _add(*operands: int) -> int:
    return sum(operands)


def _not_negative(a: int, b: int, *_: int) -> bool:
    return a >= b


# Roughly from what a small model nearly always solves to what it nearly never does.
LEVELS: dict[str, Level] = {
    "sum_to_9": Level(
        ((1, 8), (1, 8)), _add, _SUM, lambda a, b: a + b <= 9, commutes=True
    ),
    "sum_1_1": Level((_ONE, _ONE), _add, _SUM, commutes=True),
    "sum_10_to_18": Level(
        (_ONE, _ONE), _add, _SUM, lambda a, b: a + b >= 10, commutes=True
    ),
    "difference_1_1": Level(
        (_ONE, _ONE), lambda a, b: a - b, _DIFFERENCE, _not_negative
    ),
    "product_1_1": Level(((2, 9), (2, 9)), lambda a, b: a * b, _PRODUCT, commutes=True),
    "sum_1_1_1": Level((_ONE, _ONE, _ONE), _add, _SUM_OF_THREE, commutes=True),
    "sum_2_1": Level((_TWO, _ONE), _add, _SUM),
    "difference_2_1": Level((_TWO, _ONE), lambda a, b: a - b, _DIFFERENCE),
    "buys_1": Level((_ONE, _ONE), _add, _BUYS, commutes=True),
    "buys_2": Level((_TWO, _TWO), _add, _BUYS, commutes=True),
    "gives_1": Level((_ONE, _ONE), lambda a, b: a - b, _GIVES, _not_negative),
    "gives_2": Level((_TWO, _TWO), lambda a, b: a - b, _GIVES, _not_negative),
    "sum_2_2": Level((_TWO, _TWO), _add, _SUM, commutes=True),
    "difference_2_2": Level(
        (_TWO, _TWO), lambda a, b: a - b, _DIFFERENCE, _not_negative
    ),
    "boxes": Level(((2, 9), (2, 12)), lambda a, b: a * b, _BOXES, commutes=True),
    "gives_buys_1": Level(
        (_ONE, _ONE, _ONE), lambda a, b, c: a - b + c, _GIVES_BUYS, _not_negative
    ),
    "gives_buys_2": Level(
        (_TWO, _TWO, _TWO), lambda a, b, c: a - b + c, _GIVES_BUYS, _not_negative
    ),
    "boxes_loose": Level(
        ((2, 9), (2, 12), _ONE), lambda a, b, c: a * b + c, _BOXES_LOOSE
    ),
    "sum_2_2_2": Level((_TWO, _TWO, _TWO), _add, _SUM_OF_THREE, commutes=True),
    "product_2_1": Level((_TWO, (2, 9)), lambda a, b: a * b, _PRODUCT),
    "sum_3_3": Level((_THREE, _THREE), _add, _SUM, commutes=True),
    "product_2_2": Level((_TWO, _TWO), lambda a, b: a * b, _PRODUCT, commutes=True),
}

# The six kinds whose base pass rates spread from about .7 to 0.
DEFAULT_LEVELS = (
    "sum_1_1",
    "product_1_1",
    "sum_2_1",
    "buys_2",
    "sum_2_2",
    "gives_buys_2",
)


def arithmetic(
    split: str,
    *,
    seed: int = 0,
    size: int = 600,
    levels: Sequence[str] = DEFAULT_LEVELS,
) -> list[Problem]:
    """`size` distinct problems of a split, level by level in turn.

    A level's problems depend on (seed, split, level) only, so adding a level changes
    none of the others. Raises `UserError` for an unknown split or level, and for more
    problems than a level has.
    """
    if split not in ("train", "test"):
        raise UserError(f"arithmetic has the splits train and test, not {split!r}")
    check_levels(levels)
    each = -(-size // len(levels))  # rounded up; cut below
    columns = [_draw(name, split, seed, each) for name in levels]
    rows = [column[i] for i in range(each) for column in columns][:size]
    return [
        Problem(id=i, question=question, answer=str(answer), level=level)
        for i, (level, question, answer) in enumerate(rows)
    ]


def check_levels(levels: Sequence[str]) -> None:
    """Raises `UserError` unless `levels` are some of those there are."""
    if not levels:
        raise UserError(f"arithmetic needs at least one level of {', '.join(LEVELS)}")
    for name in levels:
        if not isinstance(name, str) or name not in LEVELS:
            raise UserError(
                f"arithmetic has no level {name!r}; levels: {', '.join(LEVELS)}"
            )
    for name in LEVELS:
        if list(levels).count(name) > 1:
            raise UserError(f"arithmetic is given level {name!r} twice")


def in_test(name: str, operands: Sequence[int]) -> bool:
    """The side of the split, from a hash of the operation and its operands.

    Levels that share their wording share the hash: 2 + 3 is on one side in both
    sum_to_9 and sum_1_1.
    """
    level = LEVELS[name]
    ordered = sorted(operands) if level.commutes else operands
    text = " ".join([level.phrasings[0], *map(str, ordered)])
    return _hash(text) % TEST_SHARE == 0


def _draw(name: str, split: str, seed: int, count: int) -> list[tuple[str, str, int]]:
    level = LEVELS[name]
    numbers = _numbers(seed, f"{split} {name}")
    found: dict[str, int] = {}
    for _ in range(100 * count + 10_000):  # enough to meet every problem of a small one
        if len(found) == count:
            break
        operands = [
            low + next(numbers) % (high - low + 1) for low, high in level.ranges
        ]
        phrasing = level.phrasings[next(numbers) % len(level.phrasings)]
        if level.keep(*operands) and in_test(name, operands) == (split == "test"):
            found[phrasing.format(*operands)] = level.answer(*operands)
    if len(found) < count:
        raise UserError(
            f"arithmetic level {name} has only {len(found)} distinct {split} problems,"
            f" {count} are asked for: lower size or leave the level out"
        )
    return [(name, question, answer) for question, answer in found.items()]


def _numbers(seed: int, stream: str) -> Iterator[int]:
    # Raw output of a bit generator: numpy keeps it fixed, unlike its distributions.
    bits = np.random.Philox(key=np.array([seed, _hash(stream)], np.uint64))
    while True:
        yield from map(int, bits.random_raw(1024))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
