"""Random expressions written in two ways are equal; changed by little, they are not."""

import random

import pytest

from agrae_jax.verify.grade import decide


def number(rng):
    n = rng.randint(1, 12)
    return rng.choice([str(n), f"\\frac{{{n}}}{{7}}", f"{n}.5", f"({n})"])


def expression(rng, depth, letters):
    """Two spellings of one random expression."""
    if depth == 0 or rng.random() < 0.15:
        leaf = rng.choice(letters) if letters and rng.random() < 0.5 else number(rng)
        return leaf, leaf
    kind = rng.randrange(7)
    a1, a2 = expression(rng, depth - 1, letters)
    b1, b2 = expression(rng, depth - 1, letters)
    if kind == 0:
        return f"({a1}+{b1})", f"\\left({b2} + {a2}\\right)"
    if kind == 1:
        return f"({a1}-{b1})", f"(-({b2})+{a2})"
    if kind == 2:
        return f"{{{a1}}}\\cdot {{{b1}}}", f"({b2})({a2})"
    if kind == 3:
        return f"\\frac{{{a1}}}{{{b1}}}", f"({a2})/({b2})"
    if kind == 4:
        return f"({a1})^2", f"({a2})\\times({a2})"
    if kind == 5:
        return f"\\sqrt{{({a1})^2+1}}", f"(1+({a2})({a2}))^{{\\frac12}}"
    return f"2\\cdot({a1})", f"({a2})+({a2})"


@pytest.mark.parametrize("letters", ["", "x", "xy"])
def test_two_spellings_are_equal_and_a_changed_one_is_not(letters):
    rng = random.Random(7)
    for _ in range(20):
        first, second = expression(rng, 3, letters)
        assert decide(first, second)[0] == "correct", (first, second)
        for changed in (f"{second}+\\frac{{1}}{{1000}}", f"({second})\\cdot 1.0001"):
            assert decide(first, changed)[0] == "wrong", (first, changed)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
