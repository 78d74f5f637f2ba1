"""Easy-Focused: gamma / sqrt(1 - p) (methods.md 5.4, 5.11)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of, group


def test_literal():
    np.testing.assert_allclose(
        advantages_of("easy_focused", [[1, 0, 0, 0]]),
        [[1, -1 / 3, -1 / 3, -1 / 3]],
        rtol=5e-6,
    )


def test_total_weight_is_the_closed_form():
    counts = np.arange(1, 8)
    found = advantages_of("easy_focused", [group(k, 8) for k in counts])
    expected = 8 * np.sqrt(counts / 8)
    np.testing.assert_allclose(np.abs(found).sum(-1), expected, rtol=5e-6)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
