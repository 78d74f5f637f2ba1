"""Two paths agree, or the layer is named at which they part."""

import jax
import jax.numpy as jnp
import pytest

from agrae_jax import diverge
from agrae_jax.errors import UserError

SMOKE = ["--config=configs/smoke.py", "--config.model.kwargs.num_hidden_layers=5"]
SMOKE += ["--config.mesh.fsdp=1"]


def test_sampler_and_scorer_agree(capsys):
    assert diverge.main(SMOKE) == 0
    assert "they agree within 1e-05 through all 5 layers" in capsys.readouterr().out


def test_a_fault_in_a_layer_is_found(monkeypatch, capsys):
    def faulty(policy, params, *tokens):
        def double_the_third(x):
            return x.at[2:3].multiply(2)

        layers = jax.tree.map(double_the_third, params["layers"])
        return diverge.scorer(policy, params | {"layers": layers}, *tokens)

    monkeypatch.setitem(diverge.PATHS, "faulty", (faulty, {}))
    assert diverge.main([*SMOKE, "--paths=scorer,faulty"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-1].startswith("layer 3 is the first at which they part")


def test_a_number_that_is_none_is_a_difference():
    assert diverge.difference(jnp.ones(3), jnp.ones(3)) == (0.0, 0.0)
    assert diverge.difference(jnp.full(4, 2.0), jnp.full(4, 3.0)) == (0.5, 0.5)
    assert diverge.difference(jnp.ones(2), jnp.array([1.0, jnp.nan]))[0] == float("inf")


@pytest.mark.parametrize("layers", range(1, 9))
def test_the_first_layer_is_found_by_halving(layers):
    for first in range(1, layers + 1):
        assert diverge.first_layer(layers, lambda d, f=first: d >= f) == first
    assert diverge.first_layer(layers, lambda d: False) is None


@pytest.mark.parametrize("paths", ["scorer", "scorer,nosuch", "a,b,c"])
def test_wrong_paths_are_one_line(paths):
    with pytest.raises(UserError, match="--paths=.* must be two of scorer, sampler"):
        diverge.main([*SMOKE, f"--paths={paths}"])


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
