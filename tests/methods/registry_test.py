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


# Keywords for which -1 has a meaning.
_BELOW_0 = {
    ("clip_cov", "lower"),
    ("grpo_lead", "wrong"),
    ("reinforce", "wrong"),
}


def test_every_number_has_a_range():
    walked = set()
    for name in methods.names():
        for key, default in methods.signature_defaults(name).items():
            if type(default) not in (int, float):
                continue
            walked.add((name, key))
            methods.resolve(name, **{key: default})
            wrong = [-1, 10**30]
            if type(default) is float:
                wrong += [float("nan"), 1e30, -1e30]
            for value in wrong:
                if value == -1 and (name, key) in _BELOW_0:
                    methods.resolve(name, **{key: -1})
                    continue
                with pytest.raises(UserError, match=key) as error:
                    methods.resolve(name, **{key: value})
                assert "\n" not in str(error.value), (name, key, value)
    assert len(walked) > 80 and walked >= _BELOW_0


@pytest.mark.parametrize(
    "name, kwargs, message",
    [
        ("grpo", {"eps": -1.0}, "eps must be from 0 to 1, not -1.0"),
        ("mis", {"low": 3.0}, "low = 3.0 must be at most high = 2.0"),
        ("clip_cov", {"upper": 0.5}, "lower = 1.0 must be below upper = 0.5"),
        ("grpo_lead", {"low": 2.0}, "low = 2.0 must be at most high = 1.5"),
        ("reinforce", {"wrong": 1.0}, "wrong = 1.0 must be below correct = 1.0"),
        ("mu_grpo_like", {"veto_high": 0.5}, "veto_high = 0.5 must be at least 1"),
        ("a_grae", {"alpha": 1e-320}, "alpha must be from 1e-06 to 1000000.0, not"),
        ("dapo", {"max_tokens": 0}, "max_tokens must be from 1 to 1048576, not 0"),
        ("high_entropy", {"base": "high_entropy"}, "'high_entropy' is the method it"),
        ("mis", {"base": "tis"}, "'tis' has its own importance, which .mis. would"),
        ("high_entropy", {"base": "clip_cov"}, "its own token_mask, which 'high_ent"),
        (
            "entropy_shaped",
            {"base": "ep_grpo_like"},
            "its own credit, which 'entropy_sha",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(name, kwargs, message):
    with pytest.raises(UserError, match=message):
        methods.resolve(name, **kwargs)


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
