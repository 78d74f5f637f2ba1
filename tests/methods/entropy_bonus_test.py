"""GRPO with an entropy bonus (methods.md 9.1)."""

import numpy as np
import pytest

from agrae_jax import methods
from tests.methods.running import loss_of


def test_loss_is_less_by_the_mean_entropy():
    arrays = {"entropy": [[[1.0, 2.0], [5.0, 0.0]]], "mask": [[[1, 1], [1, 0]]]}
    value, _ = loss_of("entropy_bonus", np.zeros((1, 2, 2)), 0.0, arrays=arrays)
    np.testing.assert_allclose(value, -0.01 * (1.5 + 5.0) / 2, rtol=1e-6)


def test_it_goes_on_any_base_and_asks_for_entropy():
    method = methods.resolve("entropy_bonus", base="a_grae", coef=0.001)
    assert method.needs == {"token_entropy"}
    assert len(method.shapers) == 2 and method.status == "inferred"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
