"""Dynamic sampling: sample again until a batch is full of groups that teach (DAPO).

A group teaches if some of its completions are right and some are wrong. Noise follows
from a prompt's place in the data stream, so what is drawn does not depend on how many
batches came before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from agrae_jax.distributed import gather, local_slice, whole
from agrae_jax.grading import everyones
from agrae_jax.types import Graded, Metrics, PromptBatch, Rollout

DrawMore = Callable[[int], tuple[PromptBatch, Sequence[str]]]
# number of the further batch (1, 2, ..) -> its prompts and answers


@dataclasses.dataclass(frozen=True)
class Round:
    """One rollout batch, graded."""

    rollout: Rollout
    graded: Graded
    verdicts: list[list[Any]]  # [B][G], this process's rows


@dataclasses.dataclass(frozen=True)
class Filled:
    """A full batch, and what was drawn for it."""

    round: Round
    answers: Sequence[str]  # this process's
    picked: np.ndarray | None = None  # [B, 2]: batch and row that each group is from
    rounds: int = 1
    omega: Array | None = None  # mean correctness of all that was drawn
    metrics: Metrics = dataclasses.field(default_factory=dict)


def fill(
    roll: Callable[[PromptBatch, Sequence[str]], Round],
    prompts: PromptBatch,
    answers: Sequence[str],
    draw_more: DrawMore | None,
    *,
    limit: int,
) -> Filled:
    """Rolls out `prompts`, then more, until B groups are mixed or `limit` is reached.

    The first B mixed groups are taken, in the order drawn. At the limit the batch is
    filled up with the first of the others, which a method's `select` leaves out.
    `limit` 0 takes the first batch as it is. Of several processes each gives its own
    answers and gets its own of the full batch; what is drawn is the same in all.
    """
    rounds, golds = [roll(prompts, answers)], [list(answers)]
    if not limit or draw_more is None:
        return Filled(rounds[0], answers)
    wanted = len(rounds[0].graded.correct_BG)
    while _mixed(rounds).sum() < wanted and len(rounds) < limit:
        more, their_answers = draw_more(len(rounds))
        rounds.append(roll(more, their_answers))
        golds.append(list(their_answers))

    mixed = _mixed(rounds)
    order = np.argsort(~mixed, kind="stable")[:wanted]
    picked = np.stack(np.divmod(order, wanted), 1)
    first = rounds[0]

    def take(first: Array, *others: Array) -> Array:
        rows = jnp.concatenate([first, *others]) if others else first
        return jax.device_put(rows[order], first.sharding)

    rollout = jax.tree.map(take, first.rollout, *(r.rollout for r in rounds[1:]))
    graded = jax.tree.map(take, first.graded, *(r.graded for r in rounds[1:]))
    right, valid = (_of(rounds, name).sum() for name in ("correct_BG", "valid_BG"))
    verdicts = [everyones(r.verdicts) for r in rounds]
    everyones_golds = [[x for part in gather(own) for x in part] for own in golds]
    mine = picked[local_slice(wanted)]
    return Filled(
        Round(rollout, graded, [verdicts[i][row] for i, row in mine]),
        [everyones_golds[i][row] for i, row in mine],
        picked,
        len(rounds),
        jnp.float32(right / max(valid, 1)),
        {
            "rounds": (jnp.float32(len(rounds)), jnp.float32(1)),
            "mixed_groups": (jnp.float32(mixed.sum()), jnp.float32(len(mixed))),
        },
    )


def _of(rounds: list[Round], name: str) -> np.ndarray:
    return np.concatenate([whole(getattr(r.graded, name)) for r in rounds])


def _mixed(rounds: list[Round]) -> np.ndarray:
    """Which groups drawn so far have a right and a wrong valid completion."""
    valid, right = _of(rounds, "valid_BG") > 0, _of(rounds, "correct_BG") > 0.5
    return np.any(valid & right, -1) & np.any(valid & ~right, -1)
