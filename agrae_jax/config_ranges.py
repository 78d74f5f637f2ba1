"""The range, the choices or the encoding of each field of a config, taken alone."""

from __future__ import annotations

from typing import Any

from agrae_jax import config_text
from agrae_jax.errors import UserError

_CHOICES = {
    "model.dtype": ("float32", "bfloat16"),
    "model.param_dtype": ("float32", "bfloat16"),
    "model.attention": ("auto", "plain", "splash", "splash_interpreted"),
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
DRAWS = 2**31 - 1  # the position in the data stream is an int32


def check(config: Any) -> None:
    """Raises `UserError` for the first field out of its range."""
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
    most = DRAWS if isinstance(value, int) else _BIGGEST
    if high is None and value > most:
        raise UserError(f"config.{path} must be at most {most}, not {value}")
    if not value >= low or (high is not None and value > high):
        wanted = f"from {low} to {high}" if high is not None else f">= {low}"
        raise UserError(f"config.{path} must be {wanted}, not {value}")


def _get(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config[name]
    return config
