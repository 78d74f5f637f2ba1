"""Writes a run's model as a Hugging Face folder, which transformers and vLLM load.

    python -m agrae_jax.export --workdir=RUN --out=DIR [--step=N] [--dtype=bfloat16]

Works on the host alone: no accelerator is used, and memory for the parameters is all
that it needs. The folder appears whole or not at all.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from agrae_jax import build_model, models, run_directory
from agrae_jax import config as config_door
from agrae_jax.checkpoint import Checkpoints
from agrae_jax.config import Flag
from agrae_jax.data import templates, tokenizer_files
from agrae_jax.errors import UserError
from agrae_jax.types import Params, Policy

FLAGS = {
    "out": Flag(str, "", "folder to write; must not exist yet"),
    "step": Flag(int, -1, "checkpoint to export; default the newest"),
    "dtype": Flag(str, "", "float32 or bfloat16; default that of the parameters"),
    "file_gib": Flag(float, 4.0, "largest size of one safetensors file, GiB"),
}
LARGEST = 2**20  # GiB of one file: more than any disk has


def main(argv: list[str]) -> int:
    """Restores parameters, writes the folder and says what lies in it."""
    parsed = config_door.parse(argv, extra_flags=FLAGS, from_run=True)
    config: Any = parsed.config
    out, dtype = Path(parsed.flags["out"]), parsed.flags["dtype"]
    dtype = dtype or config.model.param_dtype
    if not parsed.flags["out"]:
        raise UserError("--out is not set: give the folder to write, --out=DIR")
    if out.exists():
        raise UserError(f"--out={out} exists already: give another folder")
    if dtype not in ("float32", "bfloat16"):
        raise UserError(f"--dtype must be float32 or bfloat16, not {dtype!r}")
    if not 0 < parsed.flags["file_gib"] <= LARGEST:
        raise UserError(
            f"--file_gib must be > 0 and at most {LARGEST},"
            f" not {parsed.flags['file_gib']}"
        )
    run = run_directory.open_run(parsed.workdir)
    checkpoints = Checkpoints(run.checkpoints, keep=None, say=print)
    step = parsed.flags["step"]
    if step == -1:
        step = checkpoints.latest()
        if step is None:
            raise UserError(f"{run.path} holds no checkpoint yet: train it first")
    policy, fields = _policy(config)
    params, _ = checkpoints.restore_params(step, _on_host(policy))
    count = sum(x.size for x in jax.tree.leaves(params))
    files = export(
        out,
        policy,
        params,
        fields,
        _tokenizer(config.model.path),
        source=_source_folder(config.model.path),
        dtype=dtype,
        file_bytes=int(parsed.flags["file_gib"] * 2**30),
    )
    print(
        f"step {step} of {run.path}: {count:,} parameters in {dtype}, "
        f"{len(files)} file{'s' if len(files) > 1 else ''} of weights in {out}"
    )
    return 0


def export(
    out: Path,
    policy: Policy,
    params: Params,
    fields: dict[str, Any],
    tokenizer: templates.Tokenizer,
    *,
    source: Path | None,
    dtype: str,
    file_bytes: int,
) -> list[str]:
    """Writes the folder `out`; returns the names of its files of weights.

    `fields` are those of a `config.json`; the tokenizer's files are copied from the
    folder `source` as they are where there is one, else written.
    """
    making = _new_folder(out)
    try:
        files = models.save_params(
            making, policy, params, dtype=dtype, file_bytes=file_bytes
        )
        _write_json(making / "config.json", _config_fields(fields, dtype, tokenizer))
        generation = source and source / "generation_config.json"
        if generation and generation.is_file():
            shutil.copyfile(generation, making / generation.name)
        else:
            _write_json(making / "generation_config.json", _token_ids(tokenizer))
        if source:
            tokenizer_files.copy(source, making)
        else:
            tokenizer_files.write(tokenizer, making)
        making.rename(out)
    except OSError as error:
        raise UserError(f"--out: cannot write {out}: {error.strerror}") from None
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return files


def export_first(config: Any, out: Path) -> list[str]:
    """Writes the model that a run of `config` starts from, in its parameters' dtype."""
    policy, fields = _policy(config)
    model = build_model.build_model(config, build_model.build_mesh(config))
    return export(
        out,
        policy,
        model.params,
        fields,
        model.tokenizer,
        source=_source_folder(config.model.path),
        dtype=config.model.param_dtype,
        file_bytes=4 << 30,
    )


def _new_folder(out: Path) -> Path:
    """A new folder beside `out`, of a name that nothing had."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(
            tempfile.mkdtemp(prefix=f"{out.name}.", suffix=".tmp", dir=out.parent)
        )
        made.chmod(0o755)  # it makes folders that their owner alone may read
    except OSError as error:
        raise UserError(f"--out: cannot write {out}: {error.strerror}") from None
    return made


def _policy(config: Any) -> tuple[Policy, dict[str, Any]]:
    """The run's policy and the fields of its `config.json`."""
    c = config.model
    options = {"dtype": c.dtype, "param_dtype": c.param_dtype}
    if c.path.startswith("random:"):
        size = _tokenizer(c.path).vocab_size
        family = c.path.removeprefix("random:")
        fields = {**models.TINY, "vocab_size": size, **dict(c.kwargs)}
        return models.random(family, fields, **options), {
            "model_type": family,
            **fields,
        }
    policy, facts = models.load_policy(c.path, **options)
    return policy, facts["config"]


def _tokenizer(path: str) -> templates.Tokenizer:
    random = path.startswith("random:")
    return templates.tiny() if random else build_model.load_tokenizer(path)


def _source_folder(path: str) -> Path | None:
    """The Hugging Face folder that the run started from, if it was one."""
    if path.startswith("random:"):
        return None
    found = models.resolve(path)
    return found if found.is_dir() else None


def _on_host(policy: Policy) -> Params:
    """What to restore: every parameter whole, in the host's memory."""
    host = SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    shapes = jax.eval_shape(policy.init, jax.random.key(0))
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=host), shapes
    )


def _config_fields(
    fields: dict[str, Any], dtype: str, tokenizer: templates.Tokenizer
) -> dict[str, Any]:
    kept = {k: v for k, v in fields.items() if k not in ("torch_dtype", "dtype")}
    return {
        "architectures": [models.families.find(fields["model_type"]).architecture],
        **_token_ids(tokenizer),
        **{k: v for k, v in kept.items() if v is not None},
        # transformers 5 reads dtype, earlier versions and vLLM torch_dtype
        "dtype": dtype,
        "torch_dtype": dtype,
    }


def _token_ids(tokenizer: templates.Tokenizer) -> dict[str, Any]:
    ends = sorted(tokenizer.eos_ids)
    ids = {
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": ends if len(ends) > 1 else ends[0],
        "pad_token_id": tokenizer.pad_id,
    }
    return {name: value for name, value in ids.items() if value is not None}


def _write_json(path: Path, fields: dict[str, Any]) -> None:
    path.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    config_door.main(main)
