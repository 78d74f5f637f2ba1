"""The other verifiers: GSM8K, choice, Geometry3K, a function by its path."""

import pytest

from agrae_jax.errors import UserError
from agrae_jax.verify import verifiers


@pytest.mark.parametrize(
    "text,outcome",
    [
        ("6*7=42\n#### 42", "correct"),
        ("#### $1,042", "wrong"),
        ("#### 42.00", "correct"),
        ("A: 42", "correct"),
        ("so \\boxed{42}", "correct"),
        ("so 42", "wrong"),
        ("#### 42\n#### 43", "wrong"),
    ],
)
def test_gsm8k(text, outcome):
    assert verifiers.gsm8k(text, "He has 6*7.\n#### 42").outcome == outcome
    assert verifiers.gsm8k(text, "42").outcome == outcome


def test_gsm8k_needs_a_number_in_its_reference():
    assert verifiers.gsm8k("#### 42", "#### many").outcome == "ungradable"


@pytest.mark.parametrize(
    "text,outcome",
    [
        ("\\boxed{B}", "correct"),
        ("\\boxed{(B)}", "correct"),
        ("\\boxed{B. 12}", "correct"),
        ("\\boxed{A}", "wrong"),
        ("\\boxed{A or B}", "wrong"),
        ("B", "wrong"),
        ("The answer is B.", "correct"),
    ],
)
def test_choice(text, outcome):
    assert verifiers.choice(text, "B").outcome == outcome


@pytest.mark.parametrize(
    "text,reward",
    [
        ("<think>a</think> so \\boxed{5}", 1.0),
        ("so \\boxed{5}", 0.9),
        ("<think>a</think> so \\boxed{4}", 0.1),
        ("<think>\\boxed{5}</think> 5", 0.0),
        ("\\boxed{4}", 0.0),
    ],
)
def test_geo3k_is_nine_parts_accuracy_and_one_part_format(text, reward):
    got = verifiers.geo3k_reward(verifiers.geo3k(text, "5"))
    assert got == pytest.approx(reward, abs=1e-12)


def length_is(text, reference):
    """A verifier of the kind that a config names by its path."""
    return len(text) == int(reference)


def test_a_function_by_its_path():
    verifier = verifiers.resolve("python:tests.verify.verifiers_test.length_is")
    assert verifier("abc", "3").outcome == "correct"
    assert verifier("abc", "4").outcome == "wrong"


@pytest.mark.parametrize("name", ["maths", "python:no.such.module", "python:os.nosuch"])
def test_an_unknown_verifier_is_named(name):
    with pytest.raises(UserError, match=name.replace(".", r"\.")):
        verifiers.resolve(name)


def test_math_verify_gives_a_second_opinion():
    assert verifiers.math_verify("\\boxed{\\frac{1}{2}}", "0.5").outcome == "correct"
    assert verifiers.math_verify("\\boxed{\\frac{1}{3}}", "0.5").outcome == "wrong"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
