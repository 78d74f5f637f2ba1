import json
import math

import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import metrics
from agrae_jax.errors import UserError


def test_merge_adds_totals_and_counts():
    a = {"loss": (jnp.float32(3), jnp.float32(2)), "only_a": (jnp.float32(1), 1)}
    b = {"loss": (jnp.float32(1), jnp.float32(6)), "only_b": (jnp.float32(5), 2)}
    merged = metrics.merge(a, b)
    # (3 + 1) / (2 + 6): not the mean of 1.5 and 1/6.
    assert metrics.finalize(merged) == {"loss": 0.5, "only_a": 1.0, "only_b": 2.5}


def test_merge_leaves_its_arguments_alone():
    a = {"x": (jnp.float32(1), jnp.float32(1))}
    metrics.merge(a, {"x": (jnp.float32(1), jnp.float32(1)), "y": (0.0, 0.0)})
    assert list(a) == ["x"] and float(a["x"][0]) == 1.0


def test_finalize_of_nothing_is_none_and_nan_stays():
    values = metrics.finalize(
        {"pass/5": (jnp.float32(0), jnp.float32(0)), "loss": (jnp.float32("nan"), 1)}
    )
    assert values["pass/5"] is None
    assert values["loss"] is not None and math.isnan(values["loss"])


def test_lines_are_json_flushed_and_read_back(tmp_path):
    path = tmp_path / "metrics.jsonl"
    writer = metrics.JsonlWriter(path)
    writer.write(
        1,
        {
            "loss": jnp.float32(0.25),
            "n": np.int64(3),
            "none": None,
            "bad": float("nan"),
            "worse": -math.inf,
            "by_level": {1: 0.5},
            "list": np.arange(2),
        },
    )
    # Read before close: the line is already on its way to disk.
    line = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert line == {
        "step": 1,
        "loss": 0.25,
        "n": 3,
        "none": None,
        "bad": "nan",
        "worse": "-inf",
        "by_level": {"1": 0.5},
        "list": [0, 1],
    }
    assert list(line)[0] == "step"
    (read,) = metrics.read_jsonl(path)
    assert math.isnan(read["bad"]) and read["worse"] == -math.inf
    writer.close()


def test_a_second_writer_appends(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in (1, 2):
        writer = metrics.JsonlWriter(path)
        writer.write(step, {})
        writer.close()
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n'


@pytest.mark.parametrize("torn", ["", '{"step": 4, "lo', '{"step": 4}'])
def test_truncate_cuts_later_steps_and_a_torn_line(tmp_path, torn):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "x": 0.1}\n{"step": 2}\n{"step": 3}\n' + torn)
    assert metrics.truncate_to(path, 2) == 2
    assert path.read_text() == '{"step": 1, "x": 0.1}\n{"step": 2}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_last_line_torn_inside_a_character_goes(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2, "a": "\xc3')
    assert metrics.truncate_to(path, 2) == 1


@pytest.mark.parametrize("step", ['"x"', "null", "[1]", "1.5"])
def test_a_step_that_is_no_number_is_one_line(tmp_path, step):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": {step}}}\n')
    with pytest.raises(UserError, match="line 1 is not an object with a step"):
        metrics.truncate_to(path, 2)


def test_truncate_to_zero_and_of_a_missing_file(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert metrics.truncate_to(path, 5) == 0 and not path.exists()
    path.write_text('{"step": 1}\n')
    assert metrics.truncate_to(path, 0) == 0 and path.read_text() == ""


def test_damage_in_the_middle_names_file_and_line(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\nrubbish\n{"step": 3}\n')
    with pytest.raises(UserError, match="metrics.jsonl line 2 is not an object"):
        metrics.truncate_to(path, 3)


def test_unwritable_path_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot write .*/no/metrics.jsonl: No such"):
        metrics.JsonlWriter(tmp_path / "no" / "metrics.jsonl")


def test_a_folder_in_its_place_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot read .*: Is a directory"):
        metrics.read_jsonl(tmp_path)


def test_without_times():
    values = {"loss": 1.0, "time/step_s": 2.0, "timely": 3.0}
    assert metrics.without_times(values) == {"loss": 1.0, "timely": 3.0}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
