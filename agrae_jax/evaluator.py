"""Evaluates parameters inside a run, and for `evaluate.py`; keeps results on disk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from agrae_jax import build
from agrae_jax.console import BeforeAfter, Console, duration
from agrae_jax.data import fingerprint
from agrae_jax.data.batches import eval_batches
from agrae_jax.evaluation import compare, evaluate_batches, pass_table, summarize
from agrae_jax.grading import GradeFn
from agrae_jax.run_directory import RunDirectory

FEW = 30  # problems below which a bootstrap over problems says too much


class Evaluator:
    """Evaluates parameters on the run's test problems; keeps results on disk."""

    def __init__(
        self,
        config: Any,
        model: build.Model,
        run: RunDirectory,
        console: Console,
        grade: GradeFn,
        *,
        check: Callable[[], None] = lambda: None,
    ):
        self._check = check  # called after each wave; it may raise
        self._config, self._model, self._run = config, model, run
        self._console, self._grade = console, grade
        spec = build.eval_spec(config, model.tokenizer)
        self._sample = build.build_sampler(
            model, spec, seed=config.seed + build.EVAL_SEED, wave=0
        )
        self._wave = (
            config.eval.prompts or config.rollout.wave or config.rollout.prompts
        )
        # Read now: a broken test set must not be found after hours of training.
        problems = build.build_problems(config, "test")
        self._encoded, dropped = build.encode_problems(config, problems, model)
        if dropped:
            console.warn(
                f"{dropped} test prompts longer than data.max_prompt_tokens left out"
            )
        self.data = fingerprint.of(self._encoded)
        self.name = dataset_slug(config.data.test)

    def run(
        self, params: Any, *, step: int, name: str | None = None, again: bool = False
    ) -> dict[str, Any]:
        """Evaluates, writes eval/<name>.json and its samples, and returns the result.

        A result that is already there is read, not made again, unless `again`.
        """
        name = name or f"{self.name}_step_{step:06d}"
        if not again and (there := self.result(name)) is not None:
            self._console.say(f"evaluation {name} is there already")
            return there
        started = time.monotonic()
        encoded = self._encoded
        title = f"evaluation at step {step}"
        with self._console.evaluation(len(encoded), title=title) as progress:
            seen = 0

            def on_wave(done: int) -> None:
                nonlocal seen
                self._check()
                progress.advance(by=done - seen)
                seen = done

            records, samples = evaluate_batches(
                params,
                eval_batches(encoded, batch=self._wave),
                sample=self._sample,
                decode=self._model.tokenizer.decode,
                grade=self._grade,
                on_wave=on_wave,
            )
        c = self._config.eval
        result = {
            "dataset": self._config.data.test,
            "step": step,
            "sampling": {
                "temperature": c.temperature,
                "top_k": c.top_k,
                "top_p": c.top_p,
                "max_new_tokens": c.max_new_tokens
                or self._config.rollout.max_new_tokens,
            },
            **summarize(records),
            "time/seconds": time.monotonic() - started,
            "records": records,
        }
        self._run.write_samples(name, samples)
        self._run.write_evaluation(name, result)
        first = result["pass@k"].get("1")
        if first is None:
            self._console.warn(f"step {step}: no completion could be graded")
            return result
        self._console.say(
            f"step {step}: pass@1 {100 * first['mean']:.1f} "
            f"[{100 * first['low']:.1f}, {100 * first['high']:.1f}] on {len(records)} "
            f"problems, entropy {result['mean_entropy']:.3f}, "
            f"{duration(result['time/seconds'])}"
        )
        return result

    def result(self, name: str) -> dict[str, Any] | None:
        """A result on disk; None if there is none or, with a warning, it is damaged."""
        path = self._run.eval / f"{name}.json"
        try:
            found = json.loads(path.read_text("utf-8"))
            if pass_table(found["records"]).keys() != found["pass@k"].keys():
                raise ValueError("pass@k does not fit the records")
            return found
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError) as error:
            self._console.warn(
                f"{path} is damaged ({type(error).__name__}: {error}): it is not used"
            )
            return None

    def print_result(self, result: dict[str, Any]) -> None:
        """One evaluation as a table: pass@k with intervals, and pass@1 by level."""
        rows = [
            (f"pass@{k}", *(f"{100 * v[end]:.1f}" for end in ("mean", "low", "high")))
            for k, v in result["pass@k"].items()
        ]
        rows += [
            (f"pass@1 of {level}", f"{100 * table['1']:.1f}", "", "")
            for level, table in result["by_level"].items()
            if table
        ]
        title = f"{result['dataset']} at step {result['step']}; percent"
        self._console.table(("", "mean", "low", "high"), rows, title=title)

    def print_comparison(self) -> None:
        """Before and after side by side, with paired differences over questions."""
        names = [f"{self.name}_step_{s:06d}" for s in (0, self._config.steps)]
        before, after = map(self.result, names)
        if before is None or after is None:
            return
        differences = compare(before["records"], after["records"])
        estimate = lambda x: (x["mean"], x["low"], x["high"])  # noqa: E731
        self._run.write_evaluation(
            f"{self.name}_difference",
            {"before": 0, "after": self._config.steps, "pass@k": differences},
        )
        rows = [
            BeforeAfter(
                f"pass@{k}",
                estimate(before["pass@k"][k]),
                estimate(after["pass@k"][k]),
                estimate(difference),
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
        ]
        summary += self._console.table(
            ("level", "pass@1 before", "after"), level_rows, title="by level"
        )
        self._run.write_summary(summary)
        self._console.say(
            f"entropy {before['mean_entropy']:.3f} -> {after['mean_entropy']:.3f} nats"
            f" a token; mean length {before['mean_tokens']:.1f} ->"
            f" {after['mean_tokens']:.1f} tokens"
        )


def dataset_slug(name: str) -> str:
    """A file name for a data set name: `jsonl:data/x.jsonl` -> `x`."""
    stem = name.rpartition("/")[2].partition(":")
    last = stem[2] or stem[0]
    return last.partition(".")[0] or "dataset"
