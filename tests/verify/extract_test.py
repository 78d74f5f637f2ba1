"""The grammar of answers."""

import pytest

from agrae_jax.verify.extract import extract

FOUND = [
    ("so \\boxed{42}.", "42", "box"),
    ("\\boxed{1} then \\boxed{2}", "2", "box"),
    ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}", "box"),
    ("\\fbox{5}", "5", "box"),
    ("Thus $\\boxed 5$", "5", "box"),
    ("$\\boxed{2}$, $\\boxed{3}$ and $\\boxed{5}$", "2, 3, 5", "box"),
    ("\\boxed{7}\n\n**Final Answer**\n\\boxed{7}", "7", "box"),
    ("\\boxed{\\{1,2\\}}", "\\{1,2\\}", "box"),
    ("The answer is $x^2$.", "$x^2$", "phrase"),
    ("**Final Answer**\n\n  42\n", "42", "phrase"),
    ("2+2\n#### 4", "4", "phrase"),
    ("The final answer is: 3.5. I hope it is correct.", "3.5", "phrase"),
    ("<think>\\boxed{1}</think> \\boxed{2}", "2", "box"),
    ("\\boxed{1}</think> The answer is 2", "2", "phrase"),
    ("\\boxed{3} and so \\boxed{4 + \\frac{", "3", "box"),
]
NOTHING = [
    "",
    "I give up: 34 fails.",
    "\\boxed{}",
    "\\boxed",
    "\\boxed{5",
    "\\boxed{\\boxed{5}",
    "<think>\\boxed{5}",
    "<think>\\boxed{5}</think> done",
    "The answer is not 5",
]


@pytest.mark.parametrize("text,answer,kind", FOUND)
def test_finds(text, answer, kind):
    found = extract(text)
    assert (found.answer, found.kind) == (answer, kind)


def test_the_span_marks_the_answer():
    text = "first \\boxed{1}, then \\boxed{2} end"
    found = extract(text)
    assert text[slice(*found.span)] == "\\boxed{2}"
    found = extract("The answer is 17.")
    assert "The answer is 17."[slice(*found.span)] == "17"


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text):
    assert extract(text) is None


def test_the_last_number_counts_only_where_asked():
    assert extract("we get 3 and then -4.5 apples") is None
    assert extract("we get 3 and then -4.5 apples", strict=False).answer == "-4.5"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
