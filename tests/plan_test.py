"""The plan's ledger: what it needs, what it says, and what it refuses."""

import importlib.util
import json
from types import SimpleNamespace
from typing import Any

import pytest

from agrae_jax import (
    plan,
    plan_chips,
    plan_ledger,
    plan_models,
    plan_programs,
    plan_search,
)
from agrae_jax.errors import UserError
from agrae_jax.models import families
from agrae_jax.plan_ledger import Line

GIB = 2**30
TOPOLOGY = plan_chips.Topology(
    name="v5e:8x8",
    devices=[None] * 64,
    chips=64,
    tflops=197.0,
    hbm=16.0 * GIB,
    hbm_rate=819e9,
    ici_rate=400e9,
)


def steps(state=2 * GIB, reference=0) -> Any:
    return SimpleNamespace(
        state_bytes=state,
        reference_bytes=reference,
        mesh_shape={"fsdp": 16, "tensor": 4},
        sizes=plan_programs.Sizes(8, 2, 16, 16, 8, 2, 2),
    )


def line(program, runs=1, **fields):
    return Line(program, runs, **fields)


def test_sampling_holds_the_training_state_beside_its_own_arrays():
    decode = line("decode", 4, arguments=6.0 * GIB, temporaries=1.0 * GIB, seconds=3.0)
    update = line("update", 2, arguments=3.0 * GIB, temporaries=8.0 * GIB, seconds=10.0)
    ledger = plan_ledger.summarize([decode, update], steps(reference=GIB), TOPOLOGY)
    assert decode.needs == 10 * GIB  # 6 + 1, the state's 2 and the reference's 1
    assert update.needs == 11 * GIB
    assert ledger["peak"] == 11 * GIB
    assert ledger["fits"]
    assert ledger["seconds"] == {"decode": 12.0, "update": 20.0}
    assert ledger["step_seconds"] == 32.0


@pytest.mark.parametrize("gib, fits", [(14.3, True), (14.5, False)])
def test_nine_tenths_of_a_device_may_be_filled(gib, fits):
    update = line("update", arguments=gib * GIB)
    assert plan_ledger.summarize([update], steps(), TOPOLOGY)["fits"] is fits


def test_a_program_that_the_compiler_refused_does_not_fit():
    text = (
        "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for"
        " HLO temporaries (28.44G) exceeds available HBM (15.75G)."
    )
    error, needs = plan_ledger._too_much(text)
    assert error == "does not fit: the compiler asks for 28.44 GiB of temporaries"
    assert needs == pytest.approx(28.44 * GIB)
    lines = [line("update", error=error, needs=needs)]
    ledger = plan_ledger.summarize(lines, steps(), TOPOLOGY)
    assert not ledger["fits"]
    shown = plan_ledger.render(lines, ledger)
    assert "does not fit: 28.44 GiB asked for, 14.40 is 90% of a device" in shown


def test_the_ledger_shows_ratio_bound_and_collectives():
    update = line("update", 4, flops=6e15, model_flops=5e15, seconds=30.5)
    update.bound, update.collectives = "compute", {"all-gather": 2.5e9}
    lines = [update]
    shown = plan_ledger.render(lines, plan_ledger.summarize(lines, steps(), TOPOLOGY))
    row = next(text for text in shown.splitlines() if text.startswith("update"))
    assert row.split() == (
        "update 4 0.00 0.00 0.00 0.00 6000.0 1.20 0.0 2.5 30.50 122.0 compute".split()
    )
    assert "collectives, update: all-gather 2.5 GB" in shown
    assert "a step at the chip's limits: 122 s" in shown


@pytest.mark.parametrize(
    "name", ["v5e", "v9:4x4", "v5e:8", "v5e:axb", "v5e:0x0", "h100:8x8"]
)
def test_a_wrong_topology_lists_valid_ones(name):
    with pytest.raises(UserError, match="v4:2x2x4 .*v5e:8x8 .*tpu7x:2x2x2"):
        plan_chips.find(name)


def test_without_the_compiler_one_line_names_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install libtpu"):
        plan_chips.find("v5e:4x4")


def test_a_device_of_two_on_a_chip_has_half_of_it(monkeypatch):
    monkeypatch.setattr(plan_chips, "_devices", lambda name: [None] * 16)
    found = plan_chips.find("tpu7x:2x2x2")
    assert (found.chips, found.hbm / GIB, found.tflops) == (8, 96.0, 1153.5)


def test_what_a_plan_does_not_need_is_made_up():
    given = ["--config=configs/qwen7b.py", "--config.data.train=jsonl:mine"]
    assert plan._fill_in(given, is_open=True) == [
        *given,
        "--config.data.test=arithmetic",
        "--config.model.path=random:llama",
    ]


@pytest.mark.parametrize("name", plan_models.MODELS)
def test_published_sizes_are_read_by_their_family(name):
    family, fields = plan_models.MODELS[name]
    config = families.find(family).read_config(fields)
    assert config.heads % config.kv_heads == 0
    assert (config.width, config.layers) == (
        fields["hidden_size"],
        fields["num_hidden_layers"],
    )


def test_sizes_add_up_to_the_published_number_of_parameters():
    """Qwen2.5-7B: 7.6 billion, 6.5 of them apart from embedding and head."""
    family, fields = plan_models.find("", "qwen7b")
    config = families.find(family).read_config(fields)
    body, head = plan_programs.matrix_params(config)
    assert round(body / 1e9, 2) == 6.53
    assert round((body + 2 * head) / 1e9, 1) == 7.6


def test_an_unknown_model_lists_those_known():
    with pytest.raises(UserError, match="--model=GPT-2 is not known; known: Qwen2.5"):
        plan_models.find("GPT-2", "")
    with pytest.raises(UserError, match="give --model=NAME"):
        plan_models.find("", "mine")


def test_a_program_that_is_none_is_one_line():
    known = ["cast", "sample", "score", "update"]
    assert plan._named("score, update", known) == ["score", "update"]
    with pytest.raises(UserError, match="--programs=update needs score: name it too"):
        plan._named("update", known)
    assert plan._named("", known) == []
    with pytest.raises(UserError, match="--programs=nosuch is not one of cast, sample"):
        plan._named("sample,nosuch", known)


@pytest.mark.parametrize(
    "flag, words",
    [
        ("--json=/nonexistent/x", "--json=/nonexistent/x: not a file in a folder that"),
        ("--json=/tmp", "--json=/tmp: not a file in a folder that can be written"),
        ("--save=/proc/x", "--save=/proc/x: No such file"),
        ("--save=/dev/null", "--save=/dev/null: File exists"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_before_compiling(flag, words):
    with pytest.raises(UserError, match=words):
        plan.main(["--config=configs/smoke.py", "--topology=no:such", flag])


def test_a_command_without_a_topology_is_one_line():
    with pytest.raises(UserError, match="--topology=NAME, for example"):
        plan.main(["--config=configs/smoke.py"])


@pytest.mark.parametrize("most", range(8))
@pytest.mark.parametrize("start", [1, 16, 64])
def test_the_largest_that_fits_is_found_by_halving(most, start):
    options, tried = [1, 2, 4, 8, 16, 32, 64], []

    def fits(size):
        tried.append(size)
        return size <= 2**most / 2

    wanted = 2 ** (most - 1) if most else None
    assert plan_search.largest(options, start, fits) == wanted
    assert len(tried) == len(set(tried)) <= 4


def test_waves_and_micro_batches_divide_the_prompts_over_the_devices():
    assert plan_search.waves(96, 16) == [16, 32, 48, 96]
    assert plan_search.micro_batches(96, 16) == [6, 3, 2, 1]
    assert plan_search.waves(24, 16) == []


def test_the_fastest_choice_is_given_as_flags():
    choices = [
        plan_search.Choice(1, note="mesh.tensor=1: the training state alone"),
        plan_search.Choice(2, 64, 8, peak=8 * GIB, seconds=20.0),
        plan_search.Choice(4, 128, 4, peak=12 * GIB, seconds=10.0),
    ]
    shown = plan_search.render(choices, choices[2], TOPOLOGY).splitlines()
    assert shown[1].split() == "1 mesh.tensor=1: the training state alone".split()
    assert shown[3].split() == "4 128 4 75% 10.0 fastest".split()
    assert shown[4] == (
        "take: --config.mesh.tensor=4 --config.rollout.wave=128"
        " --config.updates.micro_batches=4"
    )


@pytest.mark.slow
def test_a_small_step_is_compiled_for_a_real_topology(tmp_path):
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip("libtpu is not installed: nothing was compiled for a TPU")
    file = tmp_path / "ledger.json"
    flags = ["--topology=v5e:4x4", "--config.rollout.prompts=64", f"--json={file}"]
    assert plan.main(["--config=configs/smoke.py", *flags]) == 0
    ledger = json.loads(file.read_text())
    assert ledger["fits"] and ledger["devices"] == 16
    names = [program["program"] for program in ledger["programs"]]
    assert names == ["cast", "sample", "score", "update"]
    assert all(p["flops"] >= p["model_flops"] * 0.9 for p in ledger["programs"])


@pytest.mark.slow
def test_a_search_ends_with_the_plan_of_the_fastest(capsys):
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip("libtpu is not installed: nothing was compiled for a TPU")
    flags = ["--topology=v5e:4x4", "--config.rollout.prompts=64", "--search"]
    assert plan.main(["--config=configs/smoke.py", *flags]) == 0
    shown = capsys.readouterr().out
    assert "take: --config.mesh.tensor=" in shown
    assert "a step at the chip's limits" in shown.split("take:")[1]


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
