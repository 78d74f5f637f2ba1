"""One file per method: `make(**kw) -> Method`, a preset over the parts in `rl/`.

    resolve("a_grae", alpha=0.5)    the method of a file, by the file's name
    override(method, clip_high=0.28)    the same, with a loss setting changed
    names()    all files

A new method is a new file; nothing here lists them.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from jax import Array

from agrae_jax.errors import UserError
from agrae_jax.methods import _ranges
from agrae_jax.rl import credit, regularizers, rewards
from agrae_jax.rl.reductions import REDUCTIONS
from agrae_jax.types import AdvantageInput, Method, Metrics, RegularizerFn

T = TypeVar("T")

# Parts of which a method has one, and which most methods leave open.
_SINGLE = (
    "credit",
    "token_mask",
    "token_select",
    "token_statistic",
    "importance",
    "curriculum",
)


def names() -> list[str]:
    """Returns the name of every method, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def signature_defaults(name: str) -> dict[str, Any]:
    """Returns the keyword arguments of a method and their defaults.

    Raises UserError for an unknown method.
    """
    parameters = inspect.signature(_maker(name)).parameters
    return {key: value.default for key, value in parameters.items()}


def resolve(name: str, **kwargs: Any) -> Method:
    """Returns the method `name` with `kwargs` in place of its defaults.

    Raises UserError for an unknown method or keyword, for a value of another type than
    the default's or out of its range, and for a base whose part would be lost.
    """
    defaults = signature_defaults(name)
    for key, value in kwargs.items():
        _check_kwarg(name, key, value, defaults)
    method = _maker(name)(**kwargs)  # its own checks say more, so they come first
    for key, value in kwargs.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            _ranges.check(name, key, value)
    if "base" in kwargs:
        _check_base(name, method, kwargs["base"])
    return method


def override(
    method: Method,
    *,
    clip_low: float | None = None,
    clip_high: float | None = None,
    dual_clip: float | None = None,
    entropy_coef: float | None = None,
    kl_coef: float | None = None,
    kl_kind: str | None = None,
    kl_reward_coef: float | None = None,
    reduction: str | None = None,
) -> Method:
    """Returns `method` with loss settings replaced; None keeps the method's own.

    A coefficient of 0 removes its term. `kl_reward_coef` takes a KL from the reward,
    k1 unless `kl_kind` says otherwise. Raises UserError where the surrogate has no such
    clip.
    """
    clips = {"low": clip_low, "high": clip_high, "dual": dual_clip}
    for key, value in clips.items():
        if value is not None:
            method = _with_clip(method, key, value)
    if entropy_coef is not None:
        term = partial(regularizers.entropy_bonus, coef=entropy_coef)
        method = _with_regularizer(method, term, "token_entropy")
    if kl_reward_coef:
        kind = choose("loss.kl_kind", kl_kind or "k1", regularizers.ESTIMATORS)
        method = _with_kl_reward(method, kl_reward_coef, kind)
    if kl_coef is not None or (kl_kind is not None and not kl_reward_coef):
        method = _with_kl(method, kl_coef, kl_kind)
    if reduction is not None:
        chosen = choose("loss.reduction", reduction, REDUCTIONS)
        method = dataclasses.replace(method, reduction=chosen)
    return method


def with_state(
    method: Method,
    key: str,
    init: Callable[[], Any],
    update: Callable[[Any, AdvantageInput, Array, Metrics], Any],
) -> Method:
    """Returns `method` with one more part of its state, `method_state[key]`.

    `update` sees that part alone; the parts of a base are kept and updated first.
    """
    before = method.update_state

    def init_all() -> dict[str, Any]:
        return {**dict(method.init_state()), key: init()}

    def update_all(
        state: Any, inputs: AdvantageInput, advantage_BG: Array, metrics: Metrics
    ) -> Any:
        done = state if before is None else before(state, inputs, advantage_BG, metrics)
        return {**done, key: update(state[key], inputs, advantage_BG, metrics)}

    return dataclasses.replace(method, init_state=init_all, update_state=update_all)


def choose(field: str, key: str, table: Mapping[str, T]) -> T:
    """Returns `table[key]`; raises UserError that names `field` and the nearest key."""
    if key not in table:
        raise UserError(f"{field} = {key!r} is unknown: {_did_you_mean(key, table)}")
    return table[key]


def check_positive(key: str, value: float) -> None:
    """Raises UserError unless the keyword argument `key` is above 0."""
    if not value > 0:
        raise UserError(f"method.kwargs.{key} = {value} must be above 0")


def check_dual_clip(value: float) -> float:
    """Returns a dual clip as given; raises UserError unless it is 0 or above 1."""
    if value != 0 and not value > 1:
        raise UserError(f"dual_clip = {value} must be above 1, or 0 for none")
    return value


def _maker(name: str) -> Callable[..., Method]:
    if name not in names():
        raise UserError(
            f"method.name = {name!r} is unknown: {_did_you_mean(name, names())}"
        )
    return importlib.import_module(f"{__name__}.{name}").make


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    def likeness(other: str) -> float:
        # Letters in order, then letters in any order: "gpro" is grpo, not gspo.
        pairs = ((word, other), (sorted(word), sorted(other)))
        return sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in pairs)

    known = list(known)
    near = max(known, key=likeness, default="")
    if near and likeness(near) > 1.2:
        return f"did you mean {near!r}?"
    return f"choose from {', '.join(known)}" if known else "there are none"


def _check_kwarg(name: str, key: str, value: Any, defaults: dict[str, Any]) -> None:
    if key not in defaults:
        hint = _did_you_mean(key, defaults)
        raise UserError(f"method.kwargs.{key} is unknown to {name!r}: {hint}")
    like: object = defaults[key]
    if isinstance(like, float) and type(value) is int:
        return
    if type(value) is not type(like):
        raise UserError(
            f"method.kwargs.{key} = {value!r} of {name!r} must be a "
            f"{type(like).__name__}, like {like!r}"
        )


def _check_base(name: str, method: Method, base: str) -> None:
    """Raises where a base has a part that the method on it replaces, or is itself."""
    if base == name:
        raise UserError(
            f"method.kwargs.base = {base!r} is the method itself: take another base"
        )
    under = resolve(base)
    for slot in _SINGLE:
        part = getattr(under, slot)
        kept = part is None or part is credit.broadcast
        if not kept and repr(part) != repr(getattr(method, slot)):
            raise UserError(
                f"method.kwargs.base = {base!r} has its own {slot}, which {name!r}"
                " would replace: take another base"
            )


def _with_clip(method: Method, key: str, value: float) -> Method:
    surrogate = method.surrogate
    if not isinstance(surrogate, partial) or key not in surrogate.keywords:
        field = {"low": "clip_low", "high": "clip_high", "dual": "dual_clip"}[key]
        raise UserError(
            f"loss.{field} = {value} has no effect on {method.name!r}, whose loss "
            "does not clip so: leave it unset"
        )
    if key == "dual":
        check_dual_clip(value)
    return dataclasses.replace(method, surrogate=partial(surrogate, **{key: value}))


def _with_regularizer(method: Method, term: partial[Any], need: str) -> Method:
    """Puts `term` in the place of the one made of the same function, if any."""

    def same(other: RegularizerFn) -> bool:
        return isinstance(other, partial) and other.func is term.func

    kept = tuple(other for other in method.regularizers if not same(other))
    removed = len(kept) < len(method.regularizers)
    needs = method.needs - {need} if removed else method.needs
    if term.keywords["coef"]:
        kept, needs = (*kept, term), needs | {need}
    return dataclasses.replace(method, regularizers=kept, needs=needs)


def _with_kl(method: Method, coef: float | None, kind: str | None) -> Method:
    keywords: dict[str, Any] = {"coef": 0.0, "estimator": regularizers.k3}
    for term in method.regularizers:
        if isinstance(term, partial) and term.func is regularizers.kl_penalty:
            keywords = dict(term.keywords)
    if coef is not None:
        keywords["coef"] = coef
    if kind is not None:
        keywords["estimator"] = choose("loss.kl_kind", kind, regularizers.ESTIMATORS)
    if kind is not None and not keywords["coef"]:
        raise UserError(
            f"loss.kl_kind = {kind!r} needs a KL term: set loss.kl_coef above 0 too"
        )
    term = partial(regularizers.kl_penalty, **keywords)
    return _with_regularizer(method, term, "ref_logprob")


def _with_kl_reward(
    method: Method, coef: float, estimator: regularizers.Estimator
) -> Method:
    reward = partial(
        rewards.less_kl, reward=method.reward, coef=coef, estimator=estimator
    )
    # Equal verdicts no longer mean equal rewards.
    return dataclasses.replace(
        method, reward=reward, needs=method.needs | {"ref_gap"}, dead_groups_zero=False
    )
