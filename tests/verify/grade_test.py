"""Verdicts, rule by rule. Pairs are (gold, boxed answer)."""

import pytest

from agrae_jax.verify.grade import grade


def outcome(gold: str, answer: str) -> str:
    return grade(f"So \\boxed{{{answer}}}.", gold).outcome


CORRECT = {
    "number": [("42", "42.0"), ("10080", "10{,}080"), ("025", "25"), ("0.5", "1/2")],
    "fraction": [("\\frac{14}{3}", "4\\frac23"), ("-\\frac12", "\\frac{-1}{2}")],
    "repeating": [("\\frac13", "0.\\overline{3}"), ("\\frac{1}{6}", "0.1666\\ldots")],
    "radical": [("\\frac{\\sqrt2}{2}", "\\frac{1}{\\sqrt{2}}")],
    "power": [("2^{2021}", "4^{1010}\\cdot 2"), ("(2^3)^2", "64"), ("2^{3^2}", "512")],
    "percent": [("28\\%", "0.28"), ("28", "28\\%"), ("\\frac14", "25\\%")],
    "unit": [("15\\mbox{ cm}^2", "15 \\text{ square centimeters}"),
             ("5 \\text{ feet}", "60\\text{ inches}"), ("90^\\circ", "90"),
             ("3\\text{ hours}", "180 \\text{ min}"), ("3000000", "3\\text{ million}")],
    "algebra": [("x^2+2x+1", "(x+1)^2"), ("ab+ac", "a(b+c)"), ("2x+3", "y=2x+3")],
    "trig": [("\\tan^2(y)+1", "\\sec^2 y"), ("\\arctan 2", "\\tan^{-1} 2")],
    "tuple": [("(3,\\frac{\\pi}{2})", "(r,\\theta)=(3,\\pi/2)")],
    "list": [("-2,1", "x=1 \\text{ or } x=-2"), ("6, 8\\text{, and }10", "10,8,6")],
    "set": [("\\{4,5,7\\}", "\\{7,5,4,4\\}"), ("\\emptyset", "\\{\\}")],
    "plus-minus": [("1\\pm\\sqrt{19}", "1-\\sqrt{19},1+\\sqrt{19}")],
    "interval": [("[-2,7]", "-2\\le x\\le 7"), ("(1,\\infty)", "x>1"),
                 ("(-\\infty,5)\\cup(5,\\infty)", "x\\ne 5")],
    "inequality": [("x<1", "-x>-1"), ("s^2\\le 8r^2", "8r^2\\ge s^2")],
    "equation": [("2x+4y-3=0", "y=-\\frac12x+\\frac34"), ("x=5", "5"),
                 ("f(x)=x^2+1", "f(t)=t^2+1")],
    "matrix": [("\\begin{pmatrix}1\\\\2\\end{pmatrix}",
                "\\frac12\\begin{bmatrix}2\\\\4\\end{bmatrix}")],
    "ratio": [("7:32", "14:64")],
    "base": [("204_5", "(204)_{\\text{five}}"), ("204_5", "54")],
    "choice": [("\\text{(C)}", "C."), ("B", "\\textbf{(B)}\\ 12")],
    "words": [("\\text{Evelyn}", "evelyn"), ("\\text{June 20}", "20 June")],
    "time": [("\\text{4:30 p.m.}", "4:30 PM")],
    "unicode": [("x^2", "x²"), ("\\frac34", "¾"), ("x\\le 3", "x ≤ 3")],
}  # fmt: skip
WRONG = {
    "number": [("42", "4 2"), ("1234567890123456789", "1234567890123456788")],
    "rounding": [("\\frac13", "0.33"), ("\\pi", "3.14"), ("\\sqrt2", "1.4142")],
    "percent": [("28", "0.28"), ("28\\%", "0.0028"), ("0.28", "0.28\\%")],
    "unit": [("5 \\text{ m}", "5 \\text{ km}"), ("15\\mbox{ cm}^2", "225")],
    "several": [("3", "3 \\text{ or } 5"), ("7", "[0,10]"), ("7", "7 \\pm 3"),
                ("6", "2\\cdot 3=6=7"), ("7", "7\\text{ is wrong, }8"), ("7", "x")],
    "tuple": [("(6,31,-1)", "(31,6,-1)"), ("(p,q)=(3,2)", "p=2,q=3")],
    "list": [("-2,1", "(2,1)"), ("6,8,10", "6,810"), ("a=1,b=2", "2,1")],
    "interval": [("[-2,7]", "(-2,7)"), ("[0,1)", "0\\le x\\le 1")],
    "equation": [("2x+4y-3=0", "0"), ("x+1=3", "3"), ("y=3", "x=3")],
    "matrix": [("\\begin{pmatrix}1&2\\end{pmatrix}",
                "\\begin{pmatrix}1\\\\2\\end{pmatrix}")],
    "base": [("10_2", "10_{10}")],
    "choice": [("\\text{(C)}", "C,D"), ("C", "A/B/C/D"), ("C", "\\text{not C}")],
    "words": [("\\text{east}", "\\text{seat}"), ("\\text{June 20}", "20")],
    "undefined": [("0", "0\\cdot\\infty"), ("\\infty", "\\frac10"), ("1", "True")],
    "absolute": [("|x|", "x")],
}  # fmt: skip


@pytest.mark.parametrize("kind", CORRECT)
def test_equal_answers_are_correct(kind):
    got = [(g, a, outcome(g, a)) for g, a in CORRECT[kind]]
    assert got == [(g, a, "correct") for g, a in CORRECT[kind]]


@pytest.mark.parametrize("kind", WRONG)
def test_other_answers_are_wrong(kind):
    got = [(g, a, outcome(g, a)) for g, a in WRONG[kind]]
    assert got == [(g, a, "wrong") for g, a in WRONG[kind]]


@pytest.mark.parametrize("gold", ["", "  ", "\\frac{\\}{p}i4", "\\nosuch{3}"])
def test_an_unusable_gold_is_ungradable(gold):
    assert grade("\\boxed{3}", gold).outcome == "ungradable"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
