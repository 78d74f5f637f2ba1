"""Waves and chunks: the same rows whatever their sizes, and after a kill."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax.data.batches import Encoded, eval_batches
from agrae_jax.data.problem import Problem
from agrae_jax.evaluation import waves
from agrae_jax.evaluation.progress import Progress
from agrae_jax.types import STOP_EOS, STOP_LENGTH, Rollout


@dataclasses.dataclass(frozen=True)
class Verdict:
    outcome: str
    answer: str | None
    rule: str = "test"
    format_ok: bool | None = None


def grade(items):
    """Answers are digits; 9 cannot be graded and 8 is no answer."""
    found = []
    for text, gold in items:
        outcome = {"9": "ungradable", gold: "correct"}.get(text[0], "wrong")
        found.append(Verdict(outcome, None if text[0] == "8" else text[0]))
    return found


def answer(draw, g):
    """What sample g of the problem with this draw says."""
    return (7 * draw + 3 * g + draw * g) % 10


class Sampler:
    """Answers by (draw, sample) and counts calls; dies at call number `dies`."""

    def __init__(self, chunk, dies=None):
        self.chunk, self.dies, self.calls, self.widest = chunk, dies, 0, 0

    def __call__(self, params, prompts, first):
        self.calls += 1
        if self.calls == self.dies:
            raise KeyboardInterrupt
        draws = np.asarray(prompts.draw_B)
        shape = (len(draws), self.chunk)
        self.widest = max(self.widest, self.chunk)
        numbers = [
            [answer(d, (first or 0) + g) for g in range(self.chunk)] for d in draws
        ]
        token = np.array(numbers, np.int32)
        completion = np.stack([token, np.zeros_like(token)], -1)
        return Rollout(
            prompts=prompts,
            completion_BGT=jnp.asarray(completion),
            length_BG=jnp.where(token % 2, 1, 2),
            stop_BG=jnp.where(token % 2, STOP_EOS, STOP_LENGTH),
            logprob_BGT=jnp.zeros((*shape, 2)),
            entropy_BGT=jnp.stack([token / 4, jnp.zeros(shape)], -1),
        )


def encoded(count=5):
    return [
        Encoded(Problem(i, f"q{i}?", str(answer(i, 0)), level=f"l{i % 2}"), (1, 2))
        for i in range(count)
    ]


def run(path, *, wave, at_most, dies=None, samples=6, greedy=True, units=None):
    count, chunk = waves.split(samples, at_most)
    sample = Sampler(chunk, dies)
    sampling = waves.Sampling(
        samples, count, chunk, sample, Sampler(1) if greedy else None
    )
    progress = Progress(path)
    try:
        records = waves.run_waves(
            None,
            list(eval_batches(encoded(), batch=wave)),
            sampling=sampling,
            decode=lambda ids: "".join(map(str, ids)),
            grade=grade,
            same=None,
            progress=progress,
            on_unit=lambda: units.append(1) if units is not None else None,
        )
        rows = list(progress.samples())
    finally:
        progress.close()
    return records, rows, sample


@pytest.fixture(autouse=True)
def numpy_rollouts(monkeypatch):
    monkeypatch.setattr(waves, "local_rows", np.asarray)


def ordered(rows):
    return sorted(rows, key=lambda row: (row["id"], str(row["sample"])))


def test_split():
    assert waves.split(256, 8) == (32, 8)
    assert waves.split(10, 8) == (2, 5)
    assert waves.split(7, 4) == (2, 4)
    assert waves.split(4, 8) == (1, 4)


def test_a_record_counts_what_its_samples_are(tmp_path):
    records, rows, _ = run(tmp_path / "p", wave=2, at_most=8)
    assert [answer(1, g) for g in range(6)] == [7, 1, 5, 9, 3, 7]
    assert records[1] == {
        "id": 1,
        "key": "",
        "level": "l1",
        "subject": None,
        "gold": "7",
        "samples": 6,
        "valid": 5,
        "correct": 2,
        "answered": 6,
        "truncated": 0,
        "tokens": 6,
        "entropy_sum": 8.0,
        "votes": [2, 1, 1, 1],
        "greedy": {
            "outcome": "correct",
            "tokens": 1,
            "truncated": False,
            "entropy_sum": 1.75,
        },
    }
    mine = [row for row in rows if row["id"] == 1]
    assert [row["class"] for row in mine] == [0, 1, 2, None, 3, 0, None]
    assert [row["sample"] for row in mine] == [0, 1, 2, 3, 4, 5, "greedy"]
    assert len(rows) == 5 * 7


@pytest.mark.parametrize("wave, at_most", [(1, 1), (2, 4), (3, 5), (5, 2), (8, 6)])
def test_waves_and_chunks_change_nothing_and_a_chunk_bounds_memory(
    tmp_path, wave, at_most
):
    whole, rows, _ = run(tmp_path / "whole", wave=5, at_most=6)
    records, parts, sampler = run(tmp_path / "parts", wave=wave, at_most=at_most)
    assert records == whole and ordered(parts) == ordered(rows)
    assert sampler.widest <= at_most


@pytest.mark.parametrize("dies", range(1, 10))
def test_a_killed_evaluation_goes_on_where_it_was(tmp_path, dies):
    whole, rows, unbroken = run(tmp_path / "whole", wave=2, at_most=2)
    assert unbroken.calls == 9
    path = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        run(path, wave=2, at_most=2, dies=dies)
    with path.open("a") as file:
        file.write('{"wave": 2, "un')  # torn by the kill
    units: list[int] = []
    records, again, sampler = run(path, wave=2, at_most=2, units=units)
    assert records == whole and again == rows
    assert sampler.calls == 9 - (dies - 1)
    assert len(units) == 12  # 3 waves of 3 chunks and a greedy one


def test_two_processes_do_not_write_one_file(tmp_path):
    held = Progress(tmp_path / "p")
    with pytest.raises(Exception, match="is in use"):
        Progress(tmp_path / "p")
    held.close()


@pytest.mark.parametrize(
    "line", [b"no json", b"[]", b"3", b'{"wave": 1}', b'{"rows": []}', b"\xff"]
)
def test_a_damaged_progress_file_is_one_line(tmp_path, line):
    (tmp_path / "p").write_bytes(line + b"\n")
    with pytest.raises(Exception, match="p is damaged: remove it"):
        Progress(tmp_path / "p")


def test_rows_are_plain_json(tmp_path):
    _, rows, _ = run(tmp_path / "p", wave=2, at_most=2, greedy=False)
    assert json.loads(json.dumps(rows)) == rows


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
