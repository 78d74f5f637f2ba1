"""Evaluates parameters on one set of problems; the result and its samples stay on disk.

A killed evaluation goes on where it was: what it has sampled lies in a progress file,
named after everything that decides a number.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax

from agrae_jax import build, sharding
from agrae_jax.console import Console, duration
from agrae_jax.data import fingerprint
from agrae_jax.data.batches import Encoded, eval_batches
from agrae_jax.distributed import from_first
from agrae_jax.errors import UserError
from agrae_jax.evaluation import voting, waves
from agrae_jax.evaluation.progress import Progress
from agrae_jax.evaluation.summary import pass_table, summarize
from agrae_jax.grading import GradeFn
from agrae_jax.run_directory import RunDirectory

# Verifiers that can say whether two answers are equal; others compare with a gold only.
_COMPARE = ("math", "gsm8k", "choice", "geo3k")
# What every result has and its readers count on.
_KEYS = ("step", "problems", "samples", "maj@k", "avg@n", "greedy", "by_level")
_KEYS += ("by_subject", "truncated", "mean_entropy", "mean_tokens", "settings")


class SetEvaluator:
    """Samples by `config.eval`; `run` numbers independent evaluations from 1."""

    def __init__(
        self,
        config: Any,
        model: build.Model,
        console: Console,
        grade: GradeFn,
        *,
        check: Callable[[], None] = lambda: None,
        run: int = 1,
    ):
        self._config, self._model, self._console = config, model, console
        self._grade, self._check = grade, check  # `check` may raise between chunks
        c = config.eval
        count, chunk = waves.split(c.samples, c.chunk or config.rollout.samples)
        self._seed = config.seed + run * build.EVAL_SEED
        self._spec = build.eval_spec(config, model.tokenizer, samples=chunk)
        greedy = None
        if c.greedy and c.temperature > 0:
            spec = build.greedy_spec(self._spec)
            greedy = build.build_sampler(model, spec, seed=self._seed, wave=0)
        sample = build.build_sampler(model, self._spec, seed=self._seed, wave=0)
        self._sampling = waves.Sampling(c.samples, count, chunk, sample, greedy)

    def settings(self, dataset: str, encoded: Sequence[Encoded]) -> dict[str, Any]:
        """All that decides what is measured; results that differ in it never mix."""
        c, data = self._config.eval, self._config.data
        found = {
            "dataset": dataset,
            "data": fingerprint.of(encoded),
            "model": self._config.model.path,
            "dtype": self._config.model.dtype,
            "template": data.template,
            "system": data.system,
            "examples": [list(pair) for pair in data.examples],
            "samples": c.samples,
            "greedy": self._sampling.greedy is not None,
            "temperature": c.temperature,
            "top_k": c.top_k,
            "top_p": c.top_p,
            "max_new_tokens": self._spec.max_new_tokens,
            "seed": self._seed,
            "verifier": self._config.verify.verifier,
            "verifier_kwargs": dict(self._config.verify.kwargs),
        }
        return json.loads(json.dumps(found))  # as a result on disk has them

    def refuse_other(
        self,
        encoded: Sequence[Encoded],
        *,
        dataset: str,
        step: int | None,
        directory: RunDirectory,
        name: str,
    ) -> None:
        """Raises UserError if a result of other settings has this name."""
        there = read_result(directory, name, lambda _: None)
        if there is not None:
            settings = self.settings(dataset, encoded)
            refuse_other(directory, name, there, settings | {"step": step})

    def run(
        self,
        params: Any,
        encoded: Sequence[Encoded],
        *,
        dataset: str,
        step: int | None,
        directory: RunDirectory,
        name: str,
    ) -> dict[str, Any]:
        """Evaluates, writes eval/<name>.json and its samples, and returns the result.

        A result of the same settings that is there already is read. Raises UserError
        where one of other settings is.
        """
        settings = self.settings(dataset, encoded)
        first = jax.process_index() == 0  # the one that reads and writes
        there = from_first(
            read_result(directory, name, self._console.warn) if first else None
        )
        if there is not None:
            refuse_other(directory, name, there, settings | {"step": step})
            self._console.say(f"evaluation {name} is there already")
            return there
        started = time.monotonic()
        wave = self._wave(len(encoded))
        batches = list(eval_batches(encoded, batch=wave))
        how = {"wave": wave, "chunk": self._sampling.chunk, "step": step}
        how |= {"mesh": dict(self._model.mesh.shape)}
        path = _progress_path(directory, name, settings | how)
        progress = Progress(path) if first else None
        if progress and progress.resumed:
            self._console.say(f"evaluation {name} goes on where it was ended")
        total = len(batches) * self._sampling.units
        try:
            with self._console.evaluation(total, title=name) as shown:

                def on_unit() -> None:
                    self._check()
                    shown.advance()

                records = waves.run_waves(
                    params,
                    batches,
                    sampling=self._sampling,
                    decode=self._model.tokenizer.decode,
                    grade=self._grade,
                    same=self._same(),
                    progress=progress,
                    on_unit=on_unit,
                )
            keys = ("temperature", "top_k", "top_p", "max_new_tokens")
            result = {
                "dataset": dataset,
                "step": step,
                "sampling": {key: settings[key] for key in keys},
                **summarize(records),
                "settings": settings,
                "time/seconds": time.monotonic() - started,
                "records": records,
            }
            if settings["temperature"] == 0:
                result["greedy"] = result["avg@n"]
            if progress:
                directory.write_samples(name, progress.samples())
                directory.write_evaluation(name, result)
        except BaseException:
            if progress:
                progress.close()
            raise
        if progress:
            progress.remove()
        self._console.say(_line(name, result))
        return result

    def _wave(self, problems: int) -> int:
        """Problems at a time: at most as configured, in equal waves."""
        c, shards = self._config, sharding.batch_shards()
        at_most = c.eval.prompts or c.rollout.wave or c.rollout.prompts
        _, wave = waves.split(problems, at_most)
        return -(-wave // shards) * shards

    def _same(self) -> voting.Same | None:
        if self._config.verify.verifier not in _COMPARE:
            return None

        def same(pairs: list[tuple[str, str]]) -> list[bool]:
            boxed = [(f"\\boxed{{{answer}}}", other) for answer, other in pairs]
            return [verdict.outcome == "correct" for verdict in self._grade(boxed)]

        return same


def read_result(
    directory: RunDirectory, name: str, warn: Callable[[str], None]
) -> dict[str, Any] | None:
    """A result on disk; None if there is none or, with a warning, it is damaged."""
    path = directory.eval / f"{name}.json"
    try:
        found = json.loads(path.read_text("utf-8"))
        if pass_table(found["records"]).keys() != found["pass@k"].keys():
            raise ValueError("pass@k does not fit the records")
        lacking = [key for key in _KEYS if key not in found]
        if lacking:
            raise ValueError(f"it lacks {', '.join(lacking)}")
        return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        warn(f"{path} is damaged ({type(error).__name__}: {error}): it is not used")
        return None


def refuse_other(
    directory: RunDirectory, name: str, there: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """Raises UserError if a result was made with other settings."""
    held = there.get("settings", {}) | {"step": there["step"]}
    for key, value in wanted.items():
        if key in held and held[key] != value:
            raise UserError(
                f"{directory.eval / name}.json is there with {key}={held[key]}, not"
                f" {value}: give --name=NAME to keep both, or remove it"
            )


def _progress_path(directory: RunDirectory, name: str, deciding: Any) -> Path:
    text = json.dumps(deciding, sort_keys=True)
    short = hashlib.sha256(text.encode()).hexdigest()[:8]
    return directory.eval / f"{name}.{short}.progress"


def _line(name: str, result: dict[str, Any]) -> str:
    first = result["pass@k"].get("1")
    if first is None:
        return f"warning: {name}: no completion could be graded"
    return (
        f"{name}: pass@1 {100 * first['mean']:.1f} "
        f"[{100 * first['low']:.1f}, {100 * first['high']:.1f}] on "
        f"{result['problems']} problems, entropy {result['mean_entropy']:.3f}, "
        f"{duration(result['time/seconds'])}"
    )
