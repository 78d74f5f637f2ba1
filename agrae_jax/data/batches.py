"""The data stream: which problem is drawn when, in arrays of one closed shape.

Draw number d belongs to epoch d // n and is the (d % n)-th problem of that epoch's
order, so the position of a run is its step and nothing else needs saving.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from agrae_jax.data.problem import Problem
from agrae_jax.errors import UserError
from agrae_jax.types import PromptBatch

_LENGTH_MULTIPLE = 8


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A problem with the tokens of its prompt, those of the shared prefix left out."""

    problem: Problem
    tokens: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class HostBatch:
    """Prompts for the device (numpy int32) and, beside them, what stays on the host."""

    prompts: PromptBatch
    problems: tuple[Problem, ...]
    weight_B: np.ndarray  # float32; 0 where a row only fills the batch

    @property
    def answers(self) -> tuple[str, ...]:
        """The golds, row by row."""
        return tuple(problem.answer for problem in self.problems)

    def rows(self, part: slice) -> HostBatch:
        """Some of the rows."""
        prompts = PromptBatch(
            **{
                field.name: getattr(self.prompts, field.name)[part]
                for field in dataclasses.fields(PromptBatch)
            }
        )
        return HostBatch(prompts, self.problems[part], self.weight_B[part])


def encode(
    problems: Sequence[Problem],
    encode_prompt: Callable[[str], Sequence[int]],
    *,
    max_tokens: int,
    prefix: Sequence[int] = (),
) -> tuple[list[Encoded], int]:
    """The problems whose prompts have at most `max_tokens` tokens, and how many not.

    `prefix` are tokens that all prompts start with: they count, and are left out.
    Raises `UserError` if no problem is left.
    """
    shared = len(prefix)
    encoded = []
    for problem in problems:
        tokens = tuple(encode_prompt(problem.question))
        if tokens[:shared] != tuple(prefix):
            raise UserError(
                f"the template changes its opening with the question (problem"
                f" {problem.id}): set model.share_prefix=False"
            )
        encoded.append(Encoded(problem, tokens[shared:]))
    most = max_tokens - shared
    kept = [item for item in encoded if 1 <= len(item.tokens) <= most]
    if not kept:
        shortest = shared + min((len(item.tokens) for item in encoded), default=0)
        raise UserError(
            f"data.max_prompt_tokens={max_tokens} leaves no problem of"
            f" {len(encoded)}: the shortest prompt has {shortest} tokens"
        )
    return kept, len(encoded) - len(kept)


def prompt_length(encoded: Sequence[Encoded]) -> int:
    """L: the longest prompt, rounded up to a multiple of 8."""
    longest = max(len(item.tokens) for item in encoded)
    return -(-longest // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE


class Stream:
    """An endless stream of prompts in batches of B, an order per (seed, epoch)."""

    def __init__(
        self,
        encoded: Sequence[Encoded],
        *,
        seed: int,
        batch: int,
        length: int | None = None,
    ):
        self.encoded = list(encoded)
        self.seed = seed
        self.batch_size = batch
        self.length = _checked_length(self.encoded, length)

    def batch(self, step: int) -> HostBatch:
        """The batch of a rollout step: draws step * B up to (step + 1) * B."""
        return self.draws(step * self.batch_size, self.batch_size)

    def draws(self, first: int, count: int) -> HostBatch:
        """`count` consecutive draws from number `first` on."""
        n = len(self.encoded)
        if first + count > np.iinfo(np.int32).max:
            raise UserError(f"draw {first + count} of the data stream exceeds int32")
        numbers = range(first, first + count)
        orders = {epoch: self.order(epoch) for epoch in {d // n for d in numbers}}
        items = [self.encoded[orders[d // n][d % n]] for d in numbers]
        return _pack(items, first, self.length, weight=np.ones(count, np.float32))

    def chosen(self, indices: Sequence[int], first: int) -> HostBatch:
        """The problems at `indices`, as draws `first`, `first` + 1 and so on."""
        items = [self.encoded[index] for index in indices]
        weight = np.ones(len(items), np.float32)
        return _pack(items, first, self.length, weight=weight)

    def order(self, epoch: int) -> np.ndarray:
        """The permutation of one epoch, the same with every version of numpy."""
        key = np.array([self.seed, epoch], np.uint64)
        return np.argsort(
            np.random.Philox(key=key).random_raw(len(self.encoded)), kind="stable"
        )

    def position(self, step: int) -> tuple[int, int]:
        """(epoch, index within it) of the first draw of a step."""
        return divmod(step * self.batch_size, len(self.encoded))


def eval_batches(
    encoded: Sequence[Encoded], *, batch: int, length: int | None = None
) -> Iterator[HostBatch]:
    """All problems once, in order; the last batch is filled with rows of weight 0.

    A problem's draw is its position, so its noise does not depend on the batch size.
    """
    items = list(encoded)
    length = _checked_length(items, length)
    for first in range(0, len(items), batch):
        rows = items[first : first + batch]
        weight = np.zeros(batch, np.float32)
        weight[: len(rows)] = 1
        rows += [rows[-1]] * (batch - len(rows))
        yield _pack(rows, first, length, weight=weight)


def _checked_length(encoded: list[Encoded], length: int | None) -> int:
    needed = prompt_length(encoded)
    if length is None:
        return needed
    longest = max(len(item.tokens) for item in encoded)
    if longest > length:
        raise UserError(f"a prompt of {longest} tokens does not fit length {length}")
    return length


def _pack(
    items: Sequence[Encoded], first: int, length: int, *, weight: np.ndarray
) -> HostBatch:
    tokens_BL = np.zeros((len(items), length), np.int32)
    for row, item in zip(tokens_BL, items, strict=True):
        row[: len(item.tokens)] = item.tokens
    arrays: dict[str, Any] = {  # numpy until `global_rows` puts them on the devices
        "tokens_BL": tokens_BL,
        "length_B": np.array([len(item.tokens) for item in items], np.int32),
        "draw_B": first + np.arange(len(items), dtype=np.int32),
        "prompt_id_B": np.array([item.problem.id for item in items], np.int32),
    }
    return HostBatch(
        PromptBatch(**arrays), tuple(item.problem for item in items), weight
    )
