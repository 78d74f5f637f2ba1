"""Names, keywords and loss overrides of methods (agrae_jax/methods/__init__.py)."""

import inspect
import subprocess
import sys

import pytest

from agrae_jax import methods
from agrae_jax.errors import UserError
from agrae_jax.rl import reductions, regularizers
from agrae_jax.types import Method


def test_every_file_is_a_method():
    found = methods.names()
    assert {"grpo", "dr_grpo", "a_grae"} <= set(found)
    assert not [name for name in found if name.startswith("_")]
    for name in found:
        method = methods.resolve(name)
        assert isinstance(method, Method)
        assert method.name == name
        assert method.status in ("exact", "inferred", "experimental")
        assert method.paper


def test_every_keyword_has_a_plain_default():
    for name in methods.names():
        for key, value in methods.signature_defaults(name).items():
            assert value is not inspect.Parameter.empty, (name, key)
            assert type(value) in (int, float, bool, str), (name, key)


def test_signature_defaults():
    assert methods.signature_defaults("a_grae") == {
        "base": "grpo",
        "alpha": 1.0,
        "sample_level": True,
        "group_level": True,
        "easy": "sqrt1mp",
        "ddof": 0,
    }


@pytest.mark.parametrize(
    "name, kwargs, message",
    [
        ("gpro", {}, "method.name = 'gpro' is unknown: did you mean 'grpo'?"),
        ("zzz", {}, "choose from"),
        ("__main__", {}, "method.name = '__main__' is unknown"),
        ("a_grae", {"alhpa": 1.0}, "method.kwargs.alhpa .* did you mean 'alpha'?"),
        ("a_grae", {"alpha": "1"}, "method.kwargs.alpha = '1' .* must be a float"),
        ("a_grae", {"sample_level": 1}, "must be a bool, like True"),
        ("grpo", {"ddof": 1.0}, "must be a int|must be an int"),
    ],
)
def test_mistakes_are_named_in_one_line(name, kwargs, message):
    with pytest.raises(UserError, match=message) as error:
        methods.resolve(name, **kwargs)
    assert "\n" not in str(error.value)


def test_a_whole_number_passes_for_a_float():
    assert methods.resolve("a_grae", alpha=1).shapers[-1].keywords["alpha"] == 1


def test_override_nothing_changes_nothing():
    method = methods.resolve("grpo")
    assert methods.override(method) == method


def test_override_clips():
    method = methods.override(
        methods.resolve("a_grae"), clip_low=0.1, clip_high=0.28, dual_clip=3.0
    )
    assert method.surrogate.keywords == {"low": 0.1, "high": 0.28, "dual": 3.0}
    with pytest.raises(UserError, match="dual_clip = 0.5 must be above 1"):
        methods.override(method, dual_clip=0.5)


def test_override_entropy_and_kl_keep_needs_in_step():
    method = methods.resolve("a_grae")
    both = methods.override(method, entropy_coef=0.001, kl_coef=0.04, kl_kind="k2")
    assert both.needs == {"token_entropy", "ref_logprob"}
    entropy, kl = both.regularizers
    assert entropy.keywords == {"coef": 0.001}
    assert kl.keywords == {"coef": 0.04, "estimator": regularizers.k2}
    more = methods.override(both, kl_coef=0.1)
    assert more.regularizers[1].keywords == {"coef": 0.1, "estimator": regularizers.k2}
    none = methods.override(both, entropy_coef=0.0, kl_coef=0.0)
    assert none == method


def test_override_kl_kind_needs_a_kl():
    with pytest.raises(UserError, match="set loss.kl_coef above 0"):
        methods.override(methods.resolve("grpo"), kl_kind="k1")
    with pytest.raises(UserError, match="loss.kl_kind = 'k4'"):
        methods.override(methods.resolve("grpo"), kl_coef=0.1, kl_kind="k4")


def test_override_reduction():
    method = methods.override(methods.resolve("grpo"), reduction="token_mean")
    assert method.reduction is reductions.token_mean
    with pytest.raises(UserError, match="did you mean 'sequence_mean'"):
        methods.override(method, reduction="sequence_means")


def test_the_command_lists_every_method():
    done = subprocess.run(
        [sys.executable, "-m", "agrae_jax.methods"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == methods.names()
    assert "arXiv 2602.05548" in done.stdout


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
