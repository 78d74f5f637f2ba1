"""What a config must satisfy before anything is loaded: ranges, divisions, paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agrae_jax import methods
from agrae_jax.data import datasets
from agrae_jax.errors import UserError

_CHOICES = {
    "model.dtype": ("float32", "bfloat16"),
    "model.param_dtype": ("float32", "bfloat16"),
    "data.template": ("chat", "qwen", "simple", "qwen3_no_thinking", "llama", "raw"),
    "optim.schedule": ("constant", "linear", "cosine"),
    "optim.mu_dtype": ("float32", "bfloat16"),
}

# field -> (smallest, largest allowed value or None)
_RANGES: dict[str, tuple[float, float | None]] = {
    "seed": (0, 2**30),  # evaluation adds to it, and keys are made of int32
    "steps": (0, None),
    "model.attention_block": (1, None),
    "mesh.tensor": (1, None),
    "data.max_prompt_tokens": (1, None),
    "rollout.prompts": (1, None),
    "rollout.samples": (2, None),
    "rollout.max_new_tokens": (1, None),
    "rollout.top_k": (0, None),
    "rollout.top_p": (0, 1),
    "rollout.wave": (0, None),
    "verify.workers": (1, None),
    "verify.max_ungradable": (0, 1),
    "optim.learning_rate": (0, None),
    "optim.warmup_steps": (0, None),
    "optim.beta1": (0, 0.99999),  # 1 divides by zero in the bias correction
    "optim.beta2": (0, 0.99999),
    "optim.eps": (1e-30, None),
    "optim.weight_decay": (0, None),
    "optim.clip_norm": (0, None),
    "updates.mini_batches": (1, None),
    "updates.epochs": (1, None),
    "updates.micro_batches": (1, None),
    "updates.logprob_chunk": (1, None),
    "eval.every": (0, None),
    "eval.problems": (0, None),
    "eval.samples": (1, None),
    "eval.temperature": (0, None),
    "eval.top_k": (0, None),
    "eval.top_p": (0, 1),
    "eval.max_new_tokens": (0, None),
    "eval.prompts": (0, None),
    "checkpoint.every": (1, None),
    "checkpoint.keep": (1, None),
    "log.rollouts_every": (0, None),
}
_POSITIVE = ("rollout.temperature", "rollout.top_p", "eval.top_p", "verify.deadline_s")


def validate(config: Any) -> None:
    """Raises `UserError` for the first value that cannot work, naming the mend."""
    for path, (low, high) in _RANGES.items():
        value = _get(config, path)
        if not value >= low or (high is not None and value > high):
            wanted = f"from {low} to {high}" if high is not None else f">= {low}"
            raise UserError(f"config.{path} must be {wanted}, not {value}")
    for path in _POSITIVE:
        if not _get(config, path) > 0:
            raise UserError(f"config.{path} must be > 0, not {_get(config, path)}")
    for path, choices in _CHOICES.items():
        if _get(config, path) not in choices:
            raise UserError(
                f"config.{path} must be one of {', '.join(choices)},"
                f" not {_get(config, path)!r}"
            )
    if config.mesh.fsdp != -1 and config.mesh.fsdp < 1:
        raise UserError(f"config.mesh.fsdp must be -1 or >= 1, not {config.mesh.fsdp}")
    _check_sizes(config)
    _check_examples(config.data.examples)
    _check_method(config)
    _check_model(config.model)
    _check_data(config)


def _check_sizes(config: Any) -> None:
    prompts = config.rollout.prompts
    mini = config.updates.mini_batches
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
        divisors = [n for n in range(1, whole + 1) if whole % n == 0]
        near = min(divisors, key=lambda n: (abs(n - size), n))
        raise UserError(
            f"config.{path}={size} does not divide {whole_name}={whole};"
            f" the nearest that does is {near}"
        )


def _check_examples(examples: Any) -> None:
    for example in examples:
        pair = isinstance(example, tuple | list) and len(example) == 2
        if not pair or not all(isinstance(text, str) for text in example):
            raise UserError(
                "config.data.examples must hold (question, answer) pairs of strings,"
                f" not {example!r}"
            )


def _check_method(config: Any) -> None:
    method = methods.resolve(config.method.name, **dict(config.method.kwargs))
    methods.override(method, **dict(config.loss))


def _check_data(config: Any) -> None:
    for split in ("train", "test"):
        name = config.data[split]
        folder = config.data[f"{split}_kwargs"].get("folder", "")
        missing = datasets.missing_file(name, split, folder)
        if missing is not None:
            raise UserError(
                f"config.data.{split}={name}: file {missing} does not exist"
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

        family = models.families.find(model.path.removeprefix("random:"))
        family.read_config({**models.TINY, **dict(model.kwargs)})
        return
    if dict(model.kwargs):
        raise UserError(
            f"config.model.kwargs describe a random model, but config.model.path is"
            f" {model.path}: leave them out"
        )
    if model.path.startswith("package:"):
        from agrae_jax.models import gguf  # its reader is not needed otherwise

        gguf.package_file(model.path.removeprefix("package:"))
        return
    path = Path(model.path)
    if not path.exists():
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
