"""The report: what stands in it, that completions stay text, several runs beside."""

import json
import math
import re
import shutil
import subprocess

import pytest

from agrae_jax import report
from agrae_jax.errors import UserError
from agrae_jax.reports import curves, page
from agrae_jax.reports.gather import read_rollouts, read_run, studies
from agrae_jax.run_directory import open_run

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


def make_run(path, *, seed=0, name="a_grae", steps=3, completion="so \\boxed{5}."):
    """A small run directory, as training leaves it."""
    for folder in ("eval", "rollouts", "faults", "verify"):
        (path / folder).mkdir(parents=True)
    config = {
        "seed": seed,
        "steps": steps,
        "model": {"path": "random:llama"},
        "method": {"name": name},
        "data": {"train": "arithmetic"},
        "rollout": {"prompts": 1, "samples": 2},
        "optim": {"learning_rate": 1e-3},
    }
    (path / "config.json").write_text(json.dumps(config))
    (path / "status.json").write_text('{"finished": true, "step": 3}')
    (path / "versions.json").write_text('{"python": "3.11"}')
    (path / "prompt.txt").write_text("<|user|> 2 + 3?")
    (path / "faults" / "step_000002.npz").write_bytes(b"")
    with (path / "metrics.jsonl").open("w") as file:
        for step in range(1, steps + 1):
            line = {"step": step, "reward": 0.1 * step + seed, "clip_fraction": 0.0}
            line |= {"pass_rate/easy": 0.5, "grad_norm": None, "time/learn_s": 60.0}
            file.write(json.dumps(line) + "\n")
    for step, mean in ((0, 0.25), (steps, 0.5)):
        value = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1}
        result = {
            "step": step,
            "problems": 40,
            "samples": 8,
            "pass@k": {"1": value},
            "by_level": {"easy": {"1": mean}, "hard": {"1": mean / 2}},
            "mean_entropy": 0.8,
            "mean_tokens": 20.0,
            "records": [{"id": 1}],
        }
        target = path / "eval" / f"arithmetic_step_{step:06d}.json"
        target.write_text(json.dumps(result))
    gain = {"before": 0, "after": steps}
    gain["pass@k"] = {"1": {"mean": 0.25, "low": 0.125, "high": 0.375}}
    (path / "eval" / "arithmetic_difference.json").write_text(json.dumps(gain))
    for step in range(1, steps + 1):
        rows = []
        for sample, outcome in enumerate(("correct", "wrong")):
            row = {"draw": step, "id": 7, "level": "easy", "question": "2 + 3?"}
            row |= {"gold": "5", "sample": sample, "completion": completion}
            row |= {"tokens": 2, "stop": "eos", "outcome": outcome, "answer": "5"}
            row |= {"span": [3, 12], "rule": "number", "reason": "equal"}
            row |= {"reward": 1.0, "advantage": 0.5, "pieces": ["so ", "\\boxed{5}."]}
            row |= {"logprob": [-0.1, -0.2], "entropy": [0.5, 0.6]}
            rows.append(json.dumps(row))
        target = path / "rollouts" / f"step_{step:06d}.jsonl"
        target.write_text("\n".join(rows) + "\n")
    return path


def test_a_report_shows_result_curves_faults_and_setting(tmp_path):
    html = report.write(make_run(tmp_path / "run")).read_text("utf-8")
    text = re.sub(r"<[^>]+>", " ", html)
    assert "25.0 [15.0, 35.0]" in text and "50.0 [40.0, 60.0]" in text
    assert "+25.0 [+12.5, +37.5]" in text
    assert "40 held-out problems x 8 samples" in text
    assert "step_000002.npz is kept in faults/" in text
    assert "optim.learning_rate" in text and "&lt;|user|&gt; 2 + 3?" in html
    assert 'aria-label="Reward"' in html
    assert 'aria-label="Clipped share' not in html  # always 0: nothing to see
    assert 'aria-label="Gradient norm"' not in html  # never a number
    assert "3.0 minutes" in text


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    html = report.write(make_run(tmp_path / "run")).read_text("utf-8")
    loads = re.findall(r"(?:src|href|xlink:href)=\"([^\"]*)\"|url\(([^)]*)\)", html)
    assert all(target.startswith("#") for pair in loads for target in pair if target)


def test_a_completion_cannot_end_the_data_or_add_markup(tmp_path):
    path = make_run(tmp_path / "run", completion=HOSTILE)
    html = report.write(path).read_text("utf-8")
    assert "<img" not in html and html.count("</script>") == 2
    data = re.search(r'id="data">(.*?)</script>', html)
    assert data and json.loads(data[1])["3"][0]["completion"] == HOSTILE


def test_ids_of_the_curves_are_unique_in_the_page(tmp_path):
    html = report.write(make_run(tmp_path / "run")).read_text("utf-8")
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    used = re.findall(r"(?:href=\"|url\()#([^\")]+)", html)
    assert {name for name in used if "-" in name} <= set(ids)


def test_seeds_are_one_study_and_methods_are_two(tmp_path):
    runs = [
        read_run(make_run(tmp_path / f"{name}_{seed}", seed=seed, name=name))
        for name in ("grpo", "a_grae")
        for seed in (0, 1)
    ]
    groups = studies(runs)
    assert {k: len(v) for k, v in groups.items()} == {
        "method=grpo": 2,
        "method=a_grae": 2,
    }
    step, values = curves._series("reward", groups["method=grpo"])
    assert step.tolist() == [1, 2, 3]
    assert values.round(6).tolist() == [[0.1, 0.2, 0.3], [1.1, 1.2, 1.3]]
    html = page.render(runs, {}, 0)
    assert "method=grpo" in html and "a_grae_1: arithmetic" in html


def with_records(path, correct, **settings):
    """The run with an evaluation of 8 samples of which so many are right, a problem."""
    file = path / "eval" / "arithmetic_step_000003.json"
    result = json.loads(file.read_text()) | {"settings": settings}
    result["records"] = [
        {"id": i, "gold": "5", "valid": 8, "correct": n} for i, n in enumerate(correct)
    ]
    file.write_text(json.dumps(result))
    return path


def test_methods_are_compared_on_the_same_problems(tmp_path):
    one = with_records(make_run(tmp_path / "one", name="grpo"), [2, 4, 0, 8])
    two = with_records(make_run(tmp_path / "two"), [4, 4, 2, 8], temperature=0.5)
    text = re.sub(r"<[^>]+>", " ", report.write(one, [two]).read_text("utf-8"))
    assert "arithmetic: method=a_grae minus method=grpo" in text
    assert "+12.5 [+0.0, +25.0]" in text and "4 problems of the last eval" in text
    assert "p over runs" not in text and "Health of one" in text
    assert "agrae_jax.evaluate --workdir=A --compare=B" in text
    runs = [read_run(path) for path in (one, two)]
    (found,) = report.differences(studies(runs))
    assert found.gains["1"]["mean"] == 0.125 and found.gains["8"]["mean"] == 0.25
    assert found.gains["1"]["p_questions"] == 0.5
    assert found.note == (
        "Settings differ, method=a_grae there, method=grpo here:"
        " temperature=0.5 there, None here."
    )
    again = with_records(make_run(tmp_path / "x", name="grpo", seed=1), [2, 4, 0, 8])
    other = with_records(make_run(tmp_path / "y", seed=1), [4, 4, 0, 8])
    runs += [read_run(path) for path in (again, other)]
    (found,) = report.differences(studies(runs))
    assert found.gains["1"]["mean"] == pytest.approx(0.09375, abs=1e-12)
    assert found.gains["1"]["runs"] == 2
    with_records(two, [4, 4, 2, 8])
    (found,) = report.differences(studies([read_run(one), read_run(two)]))
    assert found.gains and found.note == ""
    with_records(two, [4, 4, 2])
    (found,) = report.differences(studies([read_run(one), read_run(two)]))
    assert not found.gains and "not evaluated on the same problems" in found.note
    assert not report.differences(studies([read_run(one)]))


def test_a_long_run_shows_its_first_and_last_step(tmp_path):
    path = make_run(tmp_path / "run", steps=9)
    steps, left_out = read_rollouts(path, most=6)
    assert sorted(steps) == [1, 5, 9] and left_out == 6
    steps, left_out = read_rollouts(path, most=100)
    assert len(steps) == 9 and left_out == 0


def test_a_run_that_has_just_begun_has_a_report(tmp_path):
    path = make_run(tmp_path / "run")
    for name in ("eval", "rollouts", "faults", "verify"):
        shutil.rmtree(path / name)
    (path / "metrics.jsonl").write_text("")
    html = report.write(path).read_text("utf-8")
    assert "No evaluation is there yet" in html and "No step has been logged" in html


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("config.json", "[1]", "config.json should hold a JSON object"),
        ("eval/arithmetic_difference.json", "{", "difference.json cannot be read"),
        ("metrics.jsonl", '{"step": 1}\n{\n{"step": 2}\n', r"metrics.jsonl:2 is not"),
        (
            "metrics.jsonl",
            '{"step": 1}\nnull\n',
            "metrics.jsonl:2 is not a JSON object",
        ),
        ("metrics.jsonl", "7\n", "metrics.jsonl:1 is not a JSON object"),
        ("metrics.jsonl", '{"step": "1"}\n', "object 1 has no step"),
        ("metrics.jsonl", '{"step": 1' + 400 * "0" + "}\n", "object 1 has no step"),
        ("config.json", "{}", "config.json is damaged: steps is no whole number"),
        ("config.json", '{"steps": "3"}', "config.json is damaged: steps is no"),
        ("rollouts/step_000001.jsonl", "1\n", "step_000001.jsonl:1 is not a JSON"),
        *(
            (
                f"eval/arithmetic_{name}.json",
                text,
                f"{name}.json is damaged: its {field}",
            )
            for name in ("step_000000", "step_000003", "difference")
            for field, text in (
                ("pass@k", "{}"),
                ("pass@k", '{"pass@k": 1}'),
                ("pass@k", '{"pass@k": {"1": 0.5}}'),
                ("pass@k", '{"pass@k": {"1": {"mean": "0.5"}}}'),
                ("by_level", '{"pass@k": {}, "by_level": null}'),
                ("by_level", '{"pass@k": {}, "by_level": {"easy": {"1": "x"}}}'),
            )
        ),
    ],
)
def test_a_broken_file_is_one_line(tmp_path, file, text, message):
    path = make_run(tmp_path / "run")
    (path / file).write_text(text)
    with pytest.raises(UserError, match=message):
        report.write(path)


def test_what_is_no_number_or_no_text_is_left_out(tmp_path):
    path = make_run(tmp_path / "run")
    for line in ("NaN", "Infinity", "1e308", "-1e999", "1" * 400, "1" * 5000, '"nan"'):
        with (path / "metrics.jsonl").open("a") as file:
            file.write(f'{{"step": 4, "reward": {line}, "loss": {line}}}\n')
    (path / "prompt.txt").unlink()
    (path / "prompt.txt").mkdir()
    (path / "verify" / "audit.jsonl").mkdir()
    (path / "verify" / "ungradable.jsonl").write_bytes(b"\xff\xfe\n{}\n")
    (path / "rollouts" / "step_000001.bak.jsonl").write_text("a copy")
    (path / "rollouts" / "step_9.jsonl").write_text("mine")
    (path / "eval" / "mine.json").write_text("{}")
    (path / "config.json").write_text('{"steps": 3, "model": "x", "optim": []}')
    run = read_run(path)
    assert curves._series("reward", [run])[0].tolist() == [1, 2, 3]
    html = report.write(path).read_text("utf-8")
    assert "2 completions could not be graded" in html and 'label="Loss"' not in html
    (path / "prompt.txt").rmdir()
    (path / "prompt.txt").write_bytes(b"\xff 2 + 3?")
    assert "\ufffd 2 + 3?" in report.write(path).read_text("utf-8")


def test_an_evaluation_with_nothing_gradable_has_a_report(tmp_path):
    path = make_run(tmp_path / "run")
    for step in ("000000", "000003"):
        result = {"step": 3, "pass@k": {}, "by_level": {"easy": {}}, "problems": 40}
        result |= {"mean_entropy": float("nan"), "mean_tokens": None}
        (path / "eval" / f"arithmetic_step_{step}.json").write_text(json.dumps(result))
    (path / "eval" / "arithmetic_difference.json").write_text('{"pass@k": {}}')
    html = report.write(path).read_text("utf-8")
    assert "nats a token: - to -; mean length - to -." in html


def test_a_diverged_step_has_rows_that_are_json(tmp_path):
    path = make_run(tmp_path / "run")
    row = {"draw": 2, "reward": math.nan, "logprob": [-0.5, -math.inf], "span": (0, 1)}
    open_run(path).write_rollouts(2, [row])
    wanted = {"draw": 2, "reward": None, "logprob": [-0.5, None], "span": [0, 1]}
    kept = (path / "rollouts" / "step_000002.jsonl").read_text()
    assert json.loads(kept, parse_constant=pytest.fail) == wanted
    (path / "rollouts" / "step_000001.jsonl").write_text('{"reward": NaN}\n')  # old
    html = report.write(path).read_text("utf-8")
    data = re.search(r'id="data">(.*?)</script>', html)
    assert data
    found = json.loads(data[1], parse_constant=pytest.fail)
    assert found["2"] == [wanted] and found["1"] == [{"reward": None}]


def test_a_half_written_last_line_is_left_out(tmp_path):
    path = make_run(tmp_path / "run")
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "rew')
    assert [line["step"] for line in read_run(path).metrics] == [1, 2, 3]


def test_a_file_that_is_no_report_is_not_written_over(tmp_path):
    make_run(tmp_path / "a")
    log = tmp_path / "a" / "metrics.jsonl"
    before = log.read_text()
    with pytest.raises(UserError, match="metrics.jsonl is there already and no report"):
        report.write(tmp_path / "a", out=log)
    assert log.read_text() == before


def test_command(tmp_path, capsys):
    path = make_run(tmp_path / "run")
    assert report.main([f"--workdir={path}", f"--out={tmp_path / 'x.html'}"]) == 0
    assert "written to" in capsys.readouterr().out
    assert report.main([f"--workdir={tmp_path}"]) == 2
    assert "is not a run directory" in capsys.readouterr().err


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def in_browser(path, fragment=""):
    """The page's DOM after its script has run, and what the browser's console said."""
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += ["--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*command, path.resolve().as_uri() + fragment],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="NO BROWSER: apt-get install chromium")
def test_in_a_browser_completions_are_shown_and_do_nothing(tmp_path):
    path = make_run(tmp_path / "run", completion=HOSTILE)
    dom, console = in_browser(report.write(path), "#rollout-2-2-1")
    assert not console
    assert "<title>run</title>" in dom  # the completion's script did not run
    assert len(re.findall(r'<article class="sample ', dom)) == 2
    assert 'class="sample wrong target" id="rollout-2-2-1"' in dom
    assert "&lt;img src=x" in dom and "<mark>" in dom
    assert "1 of 1 groups" in dom


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
