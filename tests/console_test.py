import io
import logging

import pytest
import rich.console

from agrae_jax.console import (
    BeforeAfter,
    Console,
    Progress,
    StepReport,
    duration,
)


def _console(*, terminal=False, quiet=False, width=100):
    buffer = io.StringIO()
    made = rich.console.Console(
        file=buffer, force_terminal=terminal, width=width, highlight=False, record=True
    )
    return Console(quiet=quiet, console=made), buffer


class _Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


REPORT = StepReport(
    reward=0.515,
    pass_by_level={1: 1.0, 2: 0.25, 3: None},
    entropy=0.7,
    sampling_tokens_per_s=812.4,
    learning_tokens_per_s=1040.0,
)


def test_step_report_text():
    assert REPORT.text() == (
        "reward 0.515 | pass by level 1:1.00 2:.25 3:- | entropy 0.700 | "
        "sampling 812 tok/s | learning 1040 tok/s"
    )
    assert StepReport().text() == ""


def test_warnings_of_our_logs_are_said_while_it_listens():
    console, buffer = _console(quiet=True)
    log = logging.getLogger("agrae_jax.data.datasets")
    with console.log_warnings():
        log.warning("rows 1\n to 2 [left out]")
        log.info("nothing")
        logging.getLogger("other").warning("not ours")
    log.warning("later")
    assert buffer.getvalue() == "warning: rows 1\n to 2 [left out]\n"
    assert logging.getLogger("agrae_jax").propagate


def test_without_a_terminal_one_line_a_step_unwrapped():
    console, buffer = _console(width=40)
    clock = _Clock()
    with Progress(console, "step", 3, 0, clock=clock) as progress:
        for seconds in (60, 10, 10):
            clock.now += seconds
            progress.advance(REPORT)
    lines = buffer.getvalue().splitlines()
    assert len(lines) == 3
    # After the first step its own time is all there is to go by; after the second
    # the first (compilation) is left out.
    assert lines[0] == f"step 1/3 | {REPORT.text()}"
    assert lines[1] == f"step 2/3 | {REPORT.text()} | 0:10 left"
    assert lines[2] == f"step 3/3 | {REPORT.text()}"


def test_lines_are_flushed_as_they_come():
    class Flushed(io.StringIO):
        flushes = 0

        def flush(self):
            self.flushes += 1

    file = Flushed()
    console = Console(console=rich.console.Console(file=file, force_terminal=False))
    before = file.flushes
    console.say("hello")
    assert file.flushes > before and file.getvalue() == "hello\n"


def test_resumed_progress_starts_where_it_was():
    console, buffer = _console()
    with console.training(10, done=7) as progress:
        progress.advance("x")
    assert buffer.getvalue().startswith("step 8/10 | x\n")


def test_evaluation_prints_quarters_only():
    console, buffer = _console()
    with console.evaluation(200, title="before") as progress:
        for _ in range(25):
            progress.advance(by=8)
    heads = [line.split(" | ")[0] for line in buffer.getvalue().splitlines()]
    assert heads == ["before 56/200", "before 104/200", "before 152/200"] + [
        "before 200/200"
    ]


def test_with_a_terminal_there_is_a_bar_with_the_numbers():
    console, _ = _console(terminal=True, width=120)
    with console.training(4) as progress:
        progress.advance(REPORT)
        progress.advance(REPORT)
    text = console.rich.export_text()
    assert "━" in text and "2/4" in text
    assert REPORT.text() in text and "left" in text


def test_an_evaluation_may_show_its_bar_within_the_training_bar():
    console, _ = _console(terminal=True, width=120)
    with console.training(2) as progress:
        progress.advance(REPORT)
        with console.evaluation(8, title="evaluation at step 1") as inner:
            inner.advance(by=8)
        progress.advance(REPORT)
    text = console.rich.export_text()
    assert "evaluation at step 1" in text and "8/8" in text and "2/2" in text


def test_say_interprets_nothing():
    console, buffer = _console()
    console.say("[bold] :smile: {x} [1.0, 2.0]")
    assert buffer.getvalue() == "[bold] :smile: {x} [1.0, 2.0]\n"


def test_quiet_leaves_warnings_and_tables(monkeypatch):
    console, buffer = _console(quiet=True)
    console.say("nothing")
    with console.training(2) as progress:
        progress.advance(REPORT)
    assert buffer.getvalue() == ""
    console.warn("low disk")
    console.warn("warning: twice")
    assert buffer.getvalue() == "warning: low disk\nwarning: twice\n"
    monkeypatch.setenv("AGRAE_QUIET", "1")
    assert Console().quiet
    monkeypatch.setenv("AGRAE_QUIET", "0")
    assert not Console().quiet


def test_before_after_table():
    console, buffer = _console()
    returned = console.before_after_table(
        [
            BeforeAfter(
                "pass@1", (0.312, 0.26, 0.365), (0.705, 0.65, 0.76), (0.393, 0.33, 0.45)
            ),
            BeforeAfter("pass@8", (0.8, 0.7, 0.9), (0.75, 0.7, 0.8), (-0.05, -0.1, 0)),
        ],
        title="200 problems [held out], a title that is longer than its table is wide",
    )
    text = buffer.getvalue()
    assert returned == text
    assert text.startswith(
        "200 problems [held out], a title that is longer than its table is wide\n+"
    )
    assert "31.2 [26.0, 36.5]" in text and "70.5 [65.0, 76.0]" in text
    assert "+39.3 [+33.0, +45.0]" in text
    assert "-5.0 [-10.0, +0.0]" in text


@pytest.mark.parametrize(
    "seconds, text", [(0, "0:00"), (59.6, "1:00"), (605, "10:05"), (3725, "1:02:05")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
