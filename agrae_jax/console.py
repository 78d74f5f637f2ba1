"""The one door to rich: what a run tells its user while it goes.

On a terminal there is a progress bar that stays in place; elsewhere (a log file, CI,
`| tee`) there is one plain line a step, flushed at once. `quiet`, or AGRAE_QUIET=1 in
the environment, leaves only warnings and the closing tables.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import rich.box
import rich.console
import rich.progress
import rich.table
import rich.text

Estimate = tuple[float, float, float]  # (value, low, high) of an interval, in [0, 1]
_LOG_WIDTH = 120  # of tables where there is no terminal to ask


@dataclasses.dataclass(frozen=True)
class BeforeAfter:
    """One row of the closing table: shares in [0, 1], each with its interval."""

    label: str
    before: Estimate
    after: Estimate
    difference: Estimate  # paired: of the same problems


@dataclasses.dataclass(frozen=True)
class StepReport:
    """What one training step shows. None is left out."""

    reward: float | None = None  # mean of the batch
    pass_by_level: Mapping[Any, float | None] = dataclasses.field(default_factory=dict)
    entropy: float | None = None  # mean, nats per token
    sampling_tokens_per_s: float | None = None
    learning_tokens_per_s: float | None = None

    def text(self) -> str:
        """Renders as `reward 0.52 | pass 1:.98 2:.41 | entropy 0.7 | ...`."""
        parts = []
        if self.reward is not None:
            parts.append(f"reward {self.reward:.3f}")
        levels = [
            f"{level}:{'-' if share is None else f'{share:.2f}'.replace('0.', '.', 1)}"
            for level, share in self.pass_by_level.items()
        ]
        if levels:
            parts.append("pass by level " + " ".join(levels))
        if self.entropy is not None:
            parts.append(f"entropy {self.entropy:.3f}")
        if self.sampling_tokens_per_s is not None:
            parts.append(f"sampling {self.sampling_tokens_per_s:.0f} tok/s")
        if self.learning_tokens_per_s is not None:
            parts.append(f"learning {self.learning_tokens_per_s:.0f} tok/s")
        return " | ".join(parts)


class Console:
    """Says, warns, shows progress and tables. Make one per process.

    Args:
      quiet: show only warnings and tables; processes other than the first want it.
      console: a rich console to write to, for tests; default is standard output.
    """

    def __init__(
        self, *, quiet: bool = False, console: rich.console.Console | None = None
    ):
        if console is None:
            console = rich.console.Console(highlight=False, emoji=False)
            if not console.is_terminal:
                console.width = _LOG_WIDTH
        self.rich = console
        self.quiet = quiet or os.environ.get("AGRAE_QUIET", "") not in ("", "0")

    def say(self, text: str) -> None:
        """Prints one line, flushed, never wrapped or interpreted."""
        if not self.quiet:
            self._line(text)

    def warn(self, text: str) -> None:
        """Prints a warning, also when quiet."""
        self._line(text if text.startswith("warning:") else f"warning: {text}")

    @contextlib.contextmanager
    def log_warnings(self) -> Iterator[None]:
        """Within it, what the package's own logs warn of is said by `warn`."""
        logger, handler = logging.getLogger("agrae_jax"), _Handler(self)
        before, logger.propagate = logger.propagate, False
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = before

    def training(self, steps: int, *, done: int = 0) -> Progress:
        """Progress over training steps, of which `done` were done before a resume."""
        return Progress(self, "step", steps, done)

    def evaluation(self, problems: int, *, title: str = "evaluation") -> Progress:
        """Progress over the problems of an evaluation."""
        return Progress(self, title, problems, 0, plain_parts=4)

    def before_after_table(self, rows: Iterable[BeforeAfter], *, title: str) -> str:
        """Prints before, after and the paired difference, in percent and points.

        Returns the plain text, as `table` does.
        """
        return self.table(
            ("", "before", "after", "difference"),
            [
                (
                    row.label,
                    _interval(row.before),
                    _interval(row.after),
                    _interval(row.difference, sign=True),
                )
                for row in rows
            ],
            title=title,
        )

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str
    ) -> str:
        """Prints any table: first column to the left, the others to the right.

        Returns it as plain text, to keep in a file.
        """
        table = rich.table.Table(
            box=rich.box.SIMPLE_HEAD if self.rich.is_terminal else rich.box.ASCII2,
        )
        for index, column in enumerate(columns):
            justify = "right" if index else "left"
            table.add_column(rich.text.Text(column), justify=justify, no_wrap=True)
        for row in rows:
            table.add_row(*(rich.text.Text(cell) for cell in row))
        heading = rich.text.Text(title, style="bold")
        self.rich.print(heading, table, sep="\n", soft_wrap=True)
        self._flush()
        plain = rich.console.Console(file=io.StringIO(), width=_LOG_WIDTH, record=True)
        table.box = rich.box.ASCII2
        plain.print(heading, table, sep="\n", soft_wrap=True)
        return plain.export_text()

    def _line(self, text: str) -> None:
        self.rich.print(rich.text.Text(text), soft_wrap=True)
        self._flush()

    def _flush(self) -> None:
        self.rich.file.flush()


class _Handler(logging.Handler):
    """Hands warnings of a log to a console."""

    def __init__(self, console: Console):
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.warn(record.getMessage())


class Progress:
    """A context manager; call `advance` once for each unit (or several) of work.

    Time left is the median of recent durations times what is left. The first one is
    left out, since it holds the compilation.
    """

    def __init__(
        self,
        console: Console,
        unit: str,
        total: int,
        done: int,
        *,
        plain_parts: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._console, self._unit, self._total = console, unit, total
        self._done, self._clock = done, clock
        self._every = max(1, total // plain_parts) if plain_parts else 1
        self._durations: list[float] = []  # seconds per unit
        self._last = clock()
        self._bar: rich.progress.Progress | None = None

    def __enter__(self) -> Progress:
        self._last = self._clock()
        if self._console.rich.is_terminal and not self._console.quiet:
            self._bar = _TwoLines(
                rich.progress.TextColumn("{task.description}", markup=False),
                rich.progress.BarColumn(),
                rich.progress.MofNCompleteColumn(),
                rich.progress.TimeElapsedColumn(),
                rich.progress.TextColumn("{task.fields[left]}", markup=False),
                console=self._console.rich,
            )
            self._task = self._bar.add_task(
                self._unit, total=self._total, completed=self._done, left="", note=""
            )
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, report: StepReport | str = "", *, by: int = 1) -> None:
        """Counts `by` units as done and shows their report."""
        now = self._clock()
        self._durations.append((now - self._last) / max(by, 1))
        self._last = now
        before, self._done = self._done, min(self._done + by, self._total)
        note = report if isinstance(report, str) else report.text()
        left = self._left()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, left=left, note=note)
            return
        if self._done // self._every > before // self._every:
            head = f"{self._unit} {self._done}/{self._total}"
            self._console.say(" | ".join(part for part in (head, note, left) if part))

    def seconds_left(self) -> float:
        """The estimate shown as time left; 0 before the second `advance`."""
        recent = self._durations[1:][-10:]
        if not recent:
            return 0.0
        return statistics.median(recent) * (self._total - self._done)

    def _left(self) -> str:
        if self._done >= self._total or len(self._durations) < 2:
            return ""
        return f"{duration(self.seconds_left())} left"


class _TwoLines(rich.progress.Progress):
    """The bar, and under it the numbers of the last step."""

    def get_renderables(self) -> Iterable[rich.console.RenderableType]:
        yield self.make_tasks_table(self.tasks)
        for task in self.tasks:
            if task.fields["note"]:
                yield rich.text.Text(task.fields["note"])


def duration(seconds: float) -> str:
    """Renders seconds as `m:ss` or `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}"


def _interval(estimate: Estimate, *, sign: bool = False) -> str:
    form = "{:+.1f}" if sign else "{:.1f}"
    value, low, high = (form.format(100 * part) for part in estimate)
    return f"{value} [{low}, {high}]"
