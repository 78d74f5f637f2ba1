"""Experiments: every run resolves, formulas are the papers', tables from kept rows."""

import math

import numpy as np
import pytest

from agrae_jax import config, methods
from agrae_jax.errors import UserError
from experiments import collect, dynamics, formulas, launch, runs, tables

TRAINED = [name for name in runs.names() if hasattr(runs.load(name), "RUNS")]
ANALYTIC = [name for name in runs.names() if name not in TRAINED]


@pytest.mark.parametrize("name", TRAINED)
def test_every_run_is_a_config_that_parses(name):
    planned = list(launch.plan(name, "cpu"))
    assert len(planned) == 3 * len(runs.load(name).RUNS)
    assert len({run.workdir for run in planned}) == len(planned)
    for run in planned[: len(planned) // 3]:
        parsed = config.parse(list(run.command[3:]))
        c = parsed.config
        method = methods.resolve(c.method.name, **dict(c.method.kwargs))
        # No run of a comparison may lose its own loss to the config's.
        assert methods.override(method, **dict(c.loss)).surrogate == method.surrogate
        assert str(parsed.workdir) == str(run.workdir)


@pytest.mark.parametrize("name", TRAINED)
def test_the_papers_cells_are_there_for_every_run(name):
    module = runs.load(name)
    found = {row["method"] for row in module.EXPECTED}
    labels = {run.label for run in module.RUNS}
    # Figures have no cells, and AsymGRPO's own are not on the page at hand.
    assert found in (labels, labels - {"AsymGRPO"}, set())
    assert found or "figure" in name
    assert tables.expected_table(module.EXPECTED, module.NOTES).count("note:") == len(
        module.NOTES
    )


def test_a_cell_of_the_ablation():
    rows = runs.load("agrae_table5").EXPECTED
    (row,) = [r for r in rows if (r["benchmark"], r["method"]) == ("MATH", "full")]
    assert (row["pass@1"], row["pass@256"]) == ("78.3", "96.5")


# --- formulas: exact at p = 1/8, 1/2 and 7/8, which are rows 7, 31 and 55 of 63.

AT = [7, 31, 55]


def at(values):
    return [values[i] for i in AT]


def test_update_magnitudes_have_their_closed_forms():
    lines = runs.load("agrae_figure4").series()["panels"]
    (lines,) = lines.values()
    np.testing.assert_allclose(at(lines["GRPO"]), [0.661438, 1, 0.661438], atol=2e-5)
    for omega in (0.1, 0.5, 0.9):
        p = np.array(formulas.RATES)
        closed = omega * np.sqrt(1 - p) + (1 - omega) * np.sqrt(p)
        found = lines[f"sample level, omega {omega}"]
        np.testing.assert_allclose(found, closed, atol=2e-5)


def test_the_family_of_asym_grpo():
    panels = list(runs.load("asym_figure1").series()["panels"].values())
    np.testing.assert_allclose(
        at(panels[0]["beta 0.5"]), [2.645751, 1, 0.377964], atol=1e-6
    )
    np.testing.assert_allclose(
        at(panels[1]["beta 0.5"]), [0.377964, 1, 2.645751], atol=1e-6
    )
    assert at(panels[0]["beta 0.0"]) == [1, 1, 1]


def test_the_group_level_pulls_the_sum_below_zero_until_omega_is_one():
    panels = runs.load("agrae_figure1").series()["panels"]
    sums = panels["group level: sum A / G"]
    np.testing.assert_allclose(sums["GRPO"], 0.0, atol=1e-6)
    means = [np.mean(sums[f"A-GRAE, omega {omega}"]) for omega in (0.1, 0.5, 0.9)]
    assert means[0] < means[1] < means[2] < 0


@pytest.mark.parametrize("name", ANALYTIC)
def test_an_analytic_figure_is_what_is_kept(name, tmp_path):
    """Make them again: python -m experiments.collect NAME"""
    assert collect.main([name, f"--out={tmp_path}"]) == 0
    for ending in ("png", "svg", "csv"):
        assert (tmp_path / f"{name}.{ending}").stat().st_size > 500
    kept = runs.FOLDER / "results" / f"{name}.csv"
    made, there = (x.read_text().splitlines() for x in (tmp_path / kept.name, kept))
    assert len(made) == len(there) > 60
    for a, b in zip(made[1:], there[1:], strict=True):
        assert a.rpartition(",")[0] == b.rpartition(",")[0]
        assert float(a.rpartition(",")[2]) == pytest.approx(
            float(b.rpartition(",")[2]), rel=1e-5, abs=2e-5
        )


# --- runs: states, and a table from rows that were kept.


def test_dry_says_what_is_missing_and_makes_nothing(tmp_path, capsys):
    root = f"--root={tmp_path}"
    done = tmp_path / "agrae_table5" / "cpu" / "GRPO-seed0"
    done.mkdir(parents=True)
    (done / "status.json").write_text('{"finished": true, "step": 14}')
    assert launch.main(["agrae_table5", "--scale=cpu", "--dry", root]) == 0
    said = capsys.readouterr().out
    assert "12 runs, 11 to make" in said and "GRPO seed 0: finished" in said
    assert "--config.method.kwargs.group_level=False" in said
    assert [p.name for p in tmp_path.rglob("*-seed*")] == ["GRPO-seed0"]


def rows_of(correct, seed, label):
    problems = [
        {"step": 14, "problem": i, "valid": 4, "correct": c}
        for i, c in enumerate(correct)
    ]
    return {(label, seed): problems}


def test_curves_are_means_over_the_seeds_that_have_the_step():
    curves = {
        ("GRPO", 0, "entropy"): {1: 2.0, 2: 1.0},
        ("GRPO", 1, "entropy"): {1: 4.0},
    }
    found = dynamics.series(curves, ["GRPO", "full"], ("entropy",))
    assert found["x"] == [1, 2]
    assert found["panels"] == {"entropy in training": {"GRPO": [3.0, 1.0]}}


def test_every_curve_is_a_documented_metric():
    text = (runs.FOLDER.parent / "docs" / "metrics.md").read_text(encoding="utf-8")
    for name in TRAINED:
        for metric in getattr(runs.load(name), "CURVES", ()):
            assert f"`{metric}`" in text, (name, metric)


def test_a_table_by_hand(tmp_path):
    kept = rows_of([0, 4, 2], 0, "GRPO") | rows_of([0, 4, 1], 1, "GRPO")
    kept |= rows_of([1, 4, 2], 0, "full") | rows_of([1, 4, 3], 1, "full")
    collect.write(tmp_path / "x.csv", kept)
    assert collect.read(tmp_path / "x.csv") == kept
    report = tables.report(kept, ["GRPO", "sample level (DDAS)", "full"])
    # GRPO: (0 + 1 + .375) / 3; full: (.25 + 1 + .625) / 3.
    assert (
        "GRPO (2 seeds): @1 45.8 [" in report and "full (2 seeds): @1 62.5 [" in report
    )
    assert "full - GRPO: 2 paired seeds; p by sign flips over 3 questions" in report
    assert "@1: +16.7 [" in report and "DDAS" not in report
    # pass@2 of 2 in 4 is 5/6, of 1 in 4 is 1/2.
    assert math.isclose(tables.matrix(kept, "GRPO", 2, [0, 1]).mean(), 10 / 18)


def test_finished_runs_are_read_and_others_are_not(tmp_path, capsys, monkeypatch):
    run = tmp_path / "runs" / "agrae_table5" / "cpu" / "full-seed1"
    (run / "eval").mkdir(parents=True)
    (run / "status.json").write_text('{"finished": true, "step": 14}')
    (run / "config.json").write_text('{"data": {"test": "arithmetic"}}')
    record = '{"id": 3, "valid": 4, "correct": 2}'
    text = f'{{"dataset": "arithmetic", "records": [{record}]}}'
    (run / "eval" / "arithmetic_step_000014.json").write_text(text)
    lines = '{"step": 1, "entropy": 2.0}\n{"step": 2, "entropy": null}\n'
    (run / "metrics.jsonl").write_text(lines)
    arguments = [f"--root={tmp_path / 'runs'}", f"--out={tmp_path / 'out'}"]
    monkeypatch.setattr(
        runs.load("agrae_table5"), "CURVES", ("entropy",), raising=False
    )
    assert collect.main(["agrae_table5", *arguments]) == 0
    said = capsys.readouterr().out
    assert "full (1 seeds): @1 50.0 [50.0, 50.0]" in said
    assert "MATH full: @1 78.3" in said
    kept = (tmp_path / "out" / "agrae_table5.cpu.csv").read_text().splitlines()
    assert kept[1:] == ["full,1,14,3,4,2"]
    kept = (tmp_path / "out" / "agrae_table5.cpu.curves.csv").read_text().splitlines()
    assert kept[1:] == ["full,1,entropy,1,2"]
    # In a clean clone, the kept rows are enough.
    arguments[0] = f"--root={tmp_path / 'nothing'}"
    assert collect.main(["agrae_table5", *arguments]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["agrae_table99"], "no experiment 'agrae_table99'"),
        (["agrae_table5", "--scale=moon"], "--scale=moon must be paper or cpu"),
        (["agrae_table5", "--dray"], "--dray is unknown"),
        ([], "name one experiment: agrae_figure1"),
    ],
)
def test_mistakes_are_one_line(arguments, said):
    with pytest.raises(UserError, match=said):
        launch.main(arguments)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
