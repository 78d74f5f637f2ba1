"""Best of group: literal vectors (methods.md 4)."""

import numpy as np
import pytest

from tests.methods.running import advantages_of


@pytest.mark.parametrize("normalize, lead", [(False, 1.0), (True, 1.999996)])
def test_literal(normalize, lead):
    correct = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]
    valid = [[1, 1, 1, 1]] * 3 + [[1, 1, 1, 0]]
    found = advantages_of("best_of_group", correct, valid=valid, normalize=normalize)
    np.testing.assert_allclose(found[0], [lead, 0, 0, 0], atol=1e-6)
    np.testing.assert_array_equal(found[1:3], 0.0)  # nobody leads alone
    assert found[3, 0] > 0 and not found[3, 1:].any()  # ungradable ones are out


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
