"""Results of other runs: where they are found, and what is refused in one line."""

import json

import pytest

from agrae_jax.errors import UserError
from agrae_jax.evaluation import others

RECORDS = [{"id": 0, "gold": "2", "valid": 4, "correct": 1}]


def write(path, records=RECORDS, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"records": records, **more}))


def test_all_runs_of_the_last_step_are_found(tmp_path):
    write(tmp_path / "eval/x_step_000009.json", step=9)
    write(tmp_path / "eval/x_step_000010.json", step=10)
    found = others.find("--compare", str(tmp_path), ["x"])
    assert [r["step"] for r in found] == [10]  # made in training
    write(tmp_path / "eval/x.json", step="alone")
    assert others.find("--compare", str(tmp_path), ["x"])[0]["step"] == "alone"
    for step in (999_999, 1_000_000):
        for run in ("", "_run_2", "_run_4"):
            write(tmp_path / f"eval/step_{step}/x{run}.json", step=f"{step}{run}")
    found = others.find("--compare", str(tmp_path), ["x"])
    assert [r["step"] for r in found] == ["1000000", "1000000_run_2"]
    file = tmp_path / "eval/x.json"
    assert others.find("--compare", str(file), ["y"])[0]["step"] == "alone"
    with pytest.raises(UserError, match=r"^--also=.* has no evaluation of y or z: ev"):
        others.find("--also", str(tmp_path), ["y", "z"])
    assert others.find("--also", str(tmp_path), ["y", "x"]) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"records": []}',
        '{"records": 3}',
        '{"records": ["x"]}',
        '{"records": [{"id": 0}]}',
        '{"records": [{"id": 0, "valid": "many", "correct": 1}]}',
        '{"records": [{"id": 0, "valid": 2, "correct": 3}]}',
        '{"records": [{"id": 0, "valid": 0, "correct": 0}]}',
        "\ufffe",
    ],
)
def test_what_is_no_evaluation_is_one_line(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"x\.json is no evaluation \(") as info:
        others.find("--compare", str(path), ["x"])
    assert "\n" not in str(info.value)


def test_a_path_that_cannot_be_one():
    for place in ("x" * 5000, "a\0b"):
        with pytest.raises(UserError, match="^--compare="):
            others.find("--compare", place, ["x"])


def test_places(tmp_path):
    assert others.places("a, b,,c") == ["a", "b", "c"]
    odd = tmp_path / "lr=1,2"
    odd.mkdir()
    assert others.places(str(odd)) == [str(odd)]
    assert others.places("x" * 5000) == ["x" * 5000]


def test_other_problems_are_refused_and_other_settings_told():
    result = {"records": RECORDS, "settings": {"temperature": 1.0, "seed": 1}}
    settings = {"temperature": 0.6, "seed": 2}
    told = others.check_alike("RUN", result, [(0, "2")], settings)
    assert told == "temperature=1.0 there, 0.6 here"
    assert others.check_alike("RUN", {"records": RECORDS}, [(0, "2")], settings) == ""
    for asked, message in (
        ([(0, "2"), (1, "3")], "RUN was not evaluated on .* 2 problems, not 1, here"),
        ([(0, "3")], "there are another problem 0, here"),
    ):
        with pytest.raises(UserError, match=message):
            others.check_alike("RUN", result, asked, settings)


def test_pooled_counts():
    more = [{"id": 0, "gold": "2", "valid": 3, "correct": 3}]
    assert others.pooled([RECORDS, more]) == [
        {"id": 0, "gold": "2", "valid": 7, "correct": 4}
    ]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
