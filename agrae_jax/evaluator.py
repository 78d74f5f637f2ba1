"""Evaluates a run while it trains: on test and training problems; keeps the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agrae_jax import build
from agrae_jax.best import Best
from agrae_jax.console import BeforeAfter, Console
from agrae_jax.data import checks, fingerprint
from agrae_jax.data.batches import Encoded
from agrae_jax.evaluation.comparison import compare
from agrae_jax.grading import GradeFn
from agrae_jax.rl.intervals import FEW
from agrae_jax.run_directory import RunDirectory
from agrae_jax.set_evaluator import SetEvaluator, read_result


class Evaluator:
    """Evaluates parameters on the run's test problems; keeps results on disk.

    `train` are the run's training problems: the first `eval.train_problems` of them
    are evaluated as well, and test problems among them are warned of.
    """

    def __init__(
        self,
        config: Any,
        model: build.Model,
        run: RunDirectory,
        console: Console,
        grade: GradeFn,
        *,
        train: Sequence[Encoded] = (),
        check: Callable[[], None] = lambda: None,
    ):
        self._config, self._run, self._console = config, run, console
        self._set = SetEvaluator(config, model, console, grade, check=check)
        # Read now: a broken test set must not be found after hours of training.
        problems = build.build_problems(config, "test")
        self._test, dropped = build.encode_problems(config, problems, model)
        if dropped:
            console.warn(
                f"{dropped} test prompts longer than data.max_prompt_tokens left out"
            )
        shared = checks.overlap([item.problem for item in train], problems)
        if shared:
            console.warn(
                f"{len(shared)} of {len(problems)} test questions are training"
                f" questions too: {' '.join(shared[0].question.split())[:60]}"
            )
        self._train = list(train[: config.eval.train_problems])
        self.data = fingerprint.of(self._test)
        self.name = dataset_slug(config.data.test)
        metric = config.checkpoint.best
        self._best = Best(run, metric, console) if metric else None

    def run(self, params: Any, *, step: int) -> dict[str, Any]:
        """Evaluates on all sets and returns the result on the test problems.

        A result that is already there is read, not made again.
        """
        data = self._config.data
        if self._train:
            name = f"{dataset_slug(data.train)}_train_step_{step:06d}"
            self._evaluate(params, self._train, data.train, step, name)
        name = f"{self.name}_step_{step:06d}"
        result = self._evaluate(params, self._test, data.test, step, name)
        if self._best:
            self._best.offer(step, params, result)
        return result

    def _evaluate(
        self, params: Any, encoded: list[Encoded], dataset: str, step: int, name: str
    ) -> dict[str, Any]:
        return self._set.run(
            params, encoded, dataset=dataset, step=step, directory=self._run, name=name
        )

    def print_comparison(self) -> None:
        """Before and after side by side, with paired differences over questions."""
        names = [f"{self.name}_step_{s:06d}" for s in (0, self._config.steps)]
        before, after = (read_result(self._run, n, self._console.warn) for n in names)
        if before is None or after is None:
            return
        differences = compare(before["records"], after["records"])
        self._run.write_evaluation(
            f"{self.name}_difference",
            {"before": 0, "after": self._config.steps, "pass@k": differences},
        )
        rows = [
            BeforeAfter(
                f"pass@{k}",
                _estimate(before["pass@k"][k]),
                _estimate(after["pass@k"][k]),
                _estimate(difference),
            )
            for k, difference in differences.items()
        ]
        count, n = before["problems"], before["samples"]
        title = (
            f"{self.name}: {count} held-out problems x {n} samples; percent, with 95 % "
            "intervals over problems"
        )
        if count < FEW:
            title += f"; fewer than {FEW} problems: intervals too narrow to trust"
        summary = self._console.before_after_table(rows, title=title)
        level_rows = [
            (
                level,
                f"{100 * before['by_level'][level]['1']:.1f}",
                f"{100 * after['by_level'][level]['1']:.1f}",
            )
            for level in before["by_level"]
            if level and before["by_level"][level] and after["by_level"].get(level)
        ]
        if level_rows:
            columns = ("level", "pass@1 before", "after")
            summary += self._console.table(columns, level_rows, title="by level")
        self._run.write_summary(summary)
        self._console.say(
            f"entropy {before['mean_entropy']:.3f} -> {after['mean_entropy']:.3f} nats"
            f" a token; mean length {before['mean_tokens']:.1f} ->"
            f" {after['mean_tokens']:.1f} tokens"
        )


def _estimate(x: dict[str, float]) -> tuple[float, float, float]:
    return x["mean"], x["low"], x["high"]


def dataset_slug(name: str) -> str:
    """A file name for a data set name: `jsonl:data/x.jsonl` -> `x`."""
    stem = name.rpartition("/")[2].partition(":")
    last = stem[2] or stem[0]
    return last.partition(".")[0] or "dataset"
