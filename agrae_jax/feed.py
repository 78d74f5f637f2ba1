"""Which prompts a step takes: the stream's next ones, or what the method's state says.

What a method needs to go on from a checkpoint is in `method_state`: "rounds", the
batches drawn so far, and "curriculum", the value of each level.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agrae_jax.data.batches import HostBatch, Stream
from agrae_jax.distributed import local_slice, whole
from agrae_jax.errors import UserError
from agrae_jax.rl import curriculum
from agrae_jax.step import Seen, StepFns, rlvr_step
from agrae_jax.types import Method, Metrics, Params, PromptBatch, TrainState

_KEY = 1 << 40  # beside the epochs that key the stream's orders


class Feed:
    """Draws the prompts of one step after the other."""

    def __init__(self, stream: Stream, method: Method):
        self.stream, self._method = stream, method
        self._drawn: list[HostBatch] = []
        self._first = 0
        self._probability: np.ndarray | None = None
        levels = sorted({item.problem.level for item in stream.encoded})
        self._arm = {level: index for index, level in enumerate(levels)}
        if method.curriculum is not None:
            _check_levels(levels, method.curriculum.arms)
        arms = np.array([self._arm[item.problem.level] for item in stream.encoded])
        self._members = [np.flatnonzero(arms == arm) for arm in range(len(levels))]

    def start(self, state: TrainState, step: int) -> HostBatch:
        """This process's rows of the first batch of rollout step `step`, from 0."""
        self._first = int(state.method_state["rounds"]) if self._method.refill else step
        c = self._method.curriculum
        if c is not None:
            self._probability = np.asarray(
                curriculum.arm_probabilities(
                    jnp.asarray(whole(state.method_state["curriculum"])),
                    jnp.arange(c.arms) < len(self._members),
                    temperature=c.temperature,
                )
            )
        self._drawn = [self._batch(self._first)]
        return self._own(self._drawn[0])

    def more(self, index: int) -> tuple[PromptBatch, Sequence[str]]:
        """Prompts and answers of further batch number `index` of this step, from 1."""
        self._drawn.append(self._batch(self._first + index))
        batch = self._own(self._drawn[-1])
        return batch.prompts, batch.answers

    def finish(self, state: TrainState, seen: Seen) -> tuple[TrainState, HostBatch]:
        """The state after the step, and this process's rows of what it trained on."""
        batch = self._drawn[0]
        if seen.picked is not None:
            batch = _rows(self._drawn, seen.picked)
        changed: dict[str, Any] = {}
        if self._method.refill:
            changed["rounds"] = np.int32(self._first + seen.rounds)
        c = self._method.curriculum
        if c is not None:
            arm_B = np.array([self._arm[problem.level] for problem in batch.problems])
            reward_A, count_A = curriculum.arm_rewards(
                jnp.asarray(whole(seen.advantage_BG)),
                jnp.asarray(whole(seen.graded.valid_BG)),
                jnp.asarray(arm_B),
                arms=c.arms,
            )
            value_A = jnp.asarray(whole(state.method_state["curriculum"]))
            changed["curriculum"] = np.asarray(
                curriculum.update_values(value_A, reward_A, count_A, rate=c.rate)
            )
        if changed:
            before = state.method_state
            placed = {
                k: jax.device_put(v, before[k].sharding) for k, v in changed.items()
            }
            state = dataclasses.replace(state, method_state=before | placed)
        return state, self._own(batch)

    def levels(self) -> dict[str, float]:
        """Chance of each level in the batch just drawn; {} without a curriculum."""
        if self._probability is None:
            return {}
        return {name: float(self._probability[arm]) for name, arm in self._arm.items()}

    def _own(self, batch: HostBatch) -> HostBatch:
        """The rows of a batch, drawn alike by all processes, that this one owns."""
        return batch.rows(local_slice(len(batch.problems)))

    def _batch(self, number: int) -> HostBatch:
        if self._probability is None:
            return self.stream.batch(number)
        size = self.stream.batch_size
        first = number * size
        edges = np.cumsum(self._probability[: len(self._members)], dtype=np.float64)
        picks = []
        for draw in range(first, first + size):
            level, inside = _uniform(self.stream.seed, draw)
            arm = min(
                int(np.searchsorted(edges, level * edges[-1], "right")), len(edges) - 1
            )
            members = self._members[arm]
            picks.append(int(members[int(inside * len(members))]))
        return self.stream.chosen(picks, first)


def take_step(
    feed: Feed,
    state: TrainState,
    step: int,
    *,
    fns: StepFns,
    ref_params: Params | None,
    on_phase: Callable[[str], None] = lambda name: None,
) -> tuple[TrainState, Metrics, Seen, HostBatch]:
    """Rollout step number `step`, from 0: draws its prompts and takes it."""
    batch = feed.start(state, step)
    state, metrics, seen = rlvr_step(
        state,
        batch.prompts,
        batch.answers,
        fns=fns,
        ref_params=ref_params,
        on_phase=on_phase,
        draw_more=feed.more,
        measure_gain=bool(fns.gain_every) and (step + 1) % fns.gain_every == 0,
    )
    state, batch = feed.finish(state, seen)
    metrics |= {
        f"curriculum/{level}": (jnp.float32(chance), jnp.float32(1))
        for level, chance in feed.levels().items()
    }
    return state, metrics, seen, batch


def _uniform(seed: int, draw: int) -> np.ndarray:
    """Two numbers in [0, 1) of a draw, the same with every version of numpy."""
    bits = np.random.Philox(key=np.array([seed, _KEY + draw], np.uint64)).random_raw(2)
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**53


def _rows(drawn: list[HostBatch], picked: np.ndarray) -> HostBatch:
    def take(*parts: Any) -> Any:
        return np.stack([parts[i][row] for i, row in picked])

    return HostBatch(
        jax.tree.map(take, *(batch.prompts for batch in drawn)),
        tuple(drawn[i].problems[row] for i, row in picked),
        take(*(batch.weight_B for batch in drawn)),
    )


def _check_levels(levels: list[str], arms: int) -> None:
    if not 2 <= len(levels) <= arms:
        raise UserError(
            f"a curriculum draws between 2 to {arms} levels of difficulty, and"
            f" data.train has {len(levels)}: give each row a level, or take another"
            " method"
        )
