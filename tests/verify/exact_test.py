"""Exact arithmetic, sets of reals, units and numbers, with literal values."""

from fractions import Fraction

import pytest

from agrae_jax.verify import numbers, pieces, regions, units
from agrae_jax.verify.exact import Work, rational
from agrae_jax.verify.parse import parse
from agrae_jax.verify.types import NotUnderstood, TooBig, Undefined


@pytest.mark.parametrize(
    "text,value",
    [
        ("1+2\\cdot 3", 7),
        ("2^{-3}", Fraction(1, 8)),
        ("8^{2/3}", 4),
        ("\\sqrt{\\frac{9}{4}}", Fraction(3, 2)),
        ("\\sqrt[3]{-8}", -2),
        ("5!", 120),
        ("\\binom{10}{4}", 210),
        ("\\sum_{k=1}^{10} k^2", 385),
        ("\\lfloor -1.5 \\rfloor", -2),
        ("17 \\bmod 5", 2),
        ("\\sqrt{2}", None),
        ("x", None),
    ],
)
def test_rational_values(text, value):
    assert rational(parse(text), Work(), {}) == value


@pytest.mark.parametrize(
    "text,error",
    [
        ("\\frac{1}{0}", Undefined),
        ("0^0", Undefined),
        ("(-1)!", Undefined),
        ("2^{10^9}", TooBig),
        ("6000!", TooBig),
        ("\\sum_{k=1}^{5000} k", TooBig),
    ],
)
def test_what_has_no_value_or_no_room(text, error):
    with pytest.raises(error):
        rational(parse(text), Work(), {})


def test_work_is_bounded():
    with pytest.raises(TooBig):
        rational(parse("\\sum_{k=1}^{1999} \\sum_{j=1}^{1999} 1"), Work(), {})


def ends(text):
    """Pieces with plain numbers as ends."""
    work = Work()
    return [
        (low and rational(low, work, {}), a, high and rational(high, work, {}), b)
        for low, a, high, b in pieces.tidy(regions.region(parse(text), work), work)
    ]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("[1,2)", [(1, True, 2, False)]),
        ("(1,2]\\cup[2,3)", [(1, False, 3, False)]),
        ("3\\ge x>1", [(1, False, 3, True)]),
        ("x\\ne 2", [(None, False, 2, False), (2, False, None, False)]),
        ("|x-1|\\le 2", [(-1, True, 3, True)]),
        ("2x+1<7", [(None, False, 3, False)]),
        ("(0,5)\\setminus[1,2]", [(0, False, 1, False), (2, False, 5, False)]),
        ("\\{x : x<3\\}", [(None, False, 3, False)]),
    ],
)
def test_sets_of_reals(text, expected):
    assert ends(text) == expected


@pytest.mark.parametrize("text", ["[2,1]", "[0,\\infty]", "x^2<4", "x+y<2"])
def test_no_set_of_reals(text):
    with pytest.raises(NotUnderstood):
        regions.region(parse(text), Work())


@pytest.mark.parametrize(
    "text,factor,powers",
    [
        ("km", 1000, (("m", 1),)),
        ("square feet", Fraction("0.09290304"), (("m", 2),)),
        ("cm^3", Fraction(1, 10**6), (("m", 3),)),
        ("miles per hour", Fraction("1609.344") / 3600, (("m", 1), ("s", -1))),
        ("apples", 1, (("apple", 1),)),
        ("square units", 1, ()),
    ],
)
def test_units(text, factor, powers):
    assert units.parse_unit(text) == (factor, powers)


@pytest.mark.parametrize("text", ["or 43", "is wrong", "maybe", "(2)"])
def test_words_that_are_no_unit(text):
    with pytest.raises(NotUnderstood):
        units.parse_unit(text)


@pytest.mark.parametrize(
    "text,value",
    [
        ("42", 42),
        ("-1,234.50", Fraction("-1234.5")),
        ("1{,}000", 1000),
        ("10,\\!080", 10080),
        (".5", Fraction(1, 2)),
        ("3/4", Fraction(3, 4)),
        ("-\\frac34", Fraction(-3, 4)),
        ("\\dfrac{3}{4}", Fraction(3, 4)),
        ("1e3", 1000),
        ("$7$", 7),
        ("7.", 7),
        ("4 2", None),
        ("1,00", None),
        ("1/0", None),
        ("0.3...", None),
        ("x", None),
        ("5!", None),
        ("\u0664", None),
        ("9" * 500, None),
    ],
)
def test_ordinary_numbers(text, value):
    assert numbers.ordinary(text) == value


def test_long_decimals_are_compared_digit_by_digit():
    assert numbers.digits_key("0" + "9" * 10_000) == numbers.digits_key(
        "9" * 10_000 + ".00"
    )
    assert numbers.digits_key("-0.0") == numbers.digits_key("0")
    assert numbers.digits_key("1" + "0" * 9999) != numbers.digits_key("1" + "0" * 9998)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
