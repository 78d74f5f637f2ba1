"""Credit: from the advantage of a completion to that of its tokens."""

import numpy as np
import pytest

from agrae_jax.rl import credit
from tests.rl.contexts import f32, token_context


def test_broadcast_stops_at_the_end_of_the_completion():
    ctx = token_context([[[-1.0] * 3] * 2], mask=[[[1, 1, 0], [1, 1, 1]]])
    np.testing.assert_allclose(
        credit.broadcast(f32([[2.0, -1.0]]), ctx), [[[2, 2, 0], [-1, -1, -1]]]
    )


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
