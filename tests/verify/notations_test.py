r"""Spellings of one value, in the gold and in the answer, and near misses of each."""

import pytest

from agrae_jax.verify.grade import grade

V11 = r"\begin{pmatrix}1\\1\end{pmatrix}"
V12 = r"\begin{pmatrix}1\\2\end{pmatrix}"
B12 = r"\begin{bmatrix}1\\2\end{bmatrix}"
M = r"\begin{pmatrix}1&0\\2&1\end{pmatrix}"
BM = r"\begin{bmatrix}1&0\\2&1\end{bmatrix}"
BOTH_WAYS = [
    # braces and \text around a sign only space it
    (r"4{:}9", "4:9"),
    (r"4{:}9", r"\frac49"),
    (r"12{:}30", "12:30"),
    (r"3\text{:}20", "3:20"),
    (r"3\text{:}05", "3:05"),
    (r"12{.}5", "12.5"),
    (r"3{.}14", "3.14"),
    (r"3\text{.}14", "3.14"),
    (r"1{,}234{.}5", "1234.5"),
    # the name in front of a matrix
    (r"A=" + V11, V11),
    (r"A=" + V12, B12),
    (r"A=" + V12, r"A=" + B12),
    (r"\mathbf{v}=" + V12, V12),
    (r"\vec v=" + V12, V12),
    (r"\vec v=" + V12, r"\mathbf v=" + V12),
    # numerals of letters
    (r"AB_{16}", "171"),
    (r"FF_{16}", "255"),
    (r"A_{16}", "10"),
    (r"\text{FF}_{16}", "255"),
    (r"AB_{16}", "10101011_2"),
    (r"AB_{16}", "AB_{16}"),
    (r"P_{16}", "P_{16}"),
    # sets whose braces lost their backslash
    (r"\{1,2\}\cup\{5\}", "{1, 2} ∪ {5}"),
    (r"[1,2]\cup\{5\}", "[1, 2] ∪ {5}"),
    (r"\mathbb{R}\setminus\{1,2\}", r"\mathbb{R}\setminus{1, 2}"),
    # geometric series
    ("2", r"\sum_{n=0}^{\infty} \frac{1}{2^n}"),
    ("2", r"\sum_{n=0}^\infty 2^{-n}"),
    ("1", r"\sum_{k=1}^{\infty}\left(\frac12\right)^k"),
    (r"\frac13", r"\sum_{n=1}^{\infty} \frac{3}{10^n}"),
    (r"\frac{2}{3}", r"\sum_{n=0}^{\infty} \frac{(-1)^n}{2^n}"),
    (r"\frac{\pi}{3}", r"\sum_{n=1}^{\infty} \frac{\pi}{4^n}"),
    # sets given by a quadratic equation
    (r"\{-1,1\}", r"\{x\mid x^2=1\}"),
    (r"\{-3,1\}", r"\{x : x^2+2x-3=0\}"),
    (r"\{\sqrt2,-\sqrt2\}", r"\{x\mid x^2=2\}"),
    (r"\{0\}", r"\{x\mid x^2=0\}"),
]
BOTH_WAYS += [
    # what stands around a function
    ("f(x)=2x", r"f(x)=2x \text{ for all } x"),
    ("f(x)=2x", r"f(x)=2x\quad\text{for all } x\in\mathbb{R}"),
    # units
    ("9.8", r"9.8\ \mathrm{m\cdot s^{-2}}"),
    (r"9.8\ \text{m/s}^2", r"9.8\,\frac{\mathrm{m}}{\mathrm{s}^2}"),
    # sets in words
    (r"[0,\infty)", r"\text{all nonnegative real numbers}"),
    (r"(0,\infty)", r"\text{all positive real numbers}"),
    (r"\text{no solution}", r"\emptyset"),
    (r"\text{No solution}", r"\text{There are no solutions}"),
    (r"\text{no real solutions}", r"\text{No real solution}"),
    (r"\text{DNE}", r"\text{does not exist}"),
    # unit vectors
    (r"\langle 1,2,3\rangle", r"\mathbf{i}+2\mathbf{j}+3\mathbf{k}"),
    (V12, r"\hat{i}+2\hat{j}"),
    (r"\hat{i}+2\hat{j}", r"\hat{\imath}+2\hat{\jmath}"),
    (r"\hat{i}+2\hat{j}", r"\hat{\mathbf{i}}+2\hat{\mathbf{j}}"),
    # words
    (r"x \equiv 3 \pmod{7}", r"3 \pmod 7"),
]
ONE_WAY = [  # a bare gold, and an answer that names it
    (V12, r"A=" + V12),
    (r"A^{-1}=" + M, r"A^{-1}=" + BM),
    (r"A^{-1}=" + M, BM),
    ("12", r"\lim_{x\to0} f(x)=12"),
    ("25", r"\text{(A)}\ 25"),
    (r"\frac12", r"\textbf{(C) }\frac{1}{2}"),
    (r"(-\infty,2)\cup(3,\infty)", r"(-\infty,2)\text{ and }(3,\infty)"),
    ("7:12", r"\text{7 to 12}"),
    (r"\frac12", r"\Pr[X=1]=\frac12"),
    ("3.5", r"\mathbb{E}[X]=3.5"),
    ("12", r"\sum a_i = 12"),
    (r"3 \pmod{7}", "3"),
]
NEAR_MISSES = [
    (r"4{:}9", "9:4"),
    (r"3\text{:}20", "3:02"),
    (r"3\text{:}05", "3:50"),
    (r"12{.}5", "125"),
    (r"3{.}14", "3.15"),
    (r"A=" + V11, V12),
    (r"A=" + V11, r"\begin{pmatrix}1&1\end{pmatrix}"),
    (r"A=" + V11, r"B=" + V11),
    (r"A=" + V11, "A=A"),
    (r"A=" + V11, "A"),
    (r"A^{-1}=" + V11, r"A=" + V11),
    (r"\vec v=" + V11, r"\vec u=" + V11),
    (r"AB_{16}", "172"),
    (r"AB_{16}", "BA_{16}"),
    (r"AB_{16}", "AB_{17}"),
    (r"AB_{2}", "3"),
    (r"P_{16}", "25"),
    (r"A_{12}", "A_{16}"),
    (r"x_{16}", "33"),
    ("1", "a_1"),
    ("10", "a_{16}"),
    ("255", "F_{16}"),
    (r"\{1,2\}\cup\{5\}", "{1, 2} ∪ {6}"),
    (r"[1,2]\cup\{5\}", "{1, 2} ∪ {5}"),
    (r"[1,2]\cup\{5\}", "[1, 2] ∪ (5, 6)"),
    ("2", r"\sum_{n=1}^{\infty} \frac{1}{2^n}"),
    ("2", r"\sum_{n=0}^{\infty} 2^n"),
    ("2", r"\sum_{n=0}^{\infty} x^n"),
    ("2", r"\sum_{n=0}^{\infty} \frac{n}{2^n+1}"),
    (r"\{-1,1\}", r"\{x\mid x^2=2\}"),
    (r"\{-1,1\}", r"\{x\mid x^2=-1\}"),
    (r"\{-1,1\}", r"\{x\mid x|x|=1\}"),
    (r"\{-1,1\}", r"\{x\mid x=1\}"),
    (r"\{-1,1\}", "x^2=1"),
    ("-1, 1", "x^2=1"),
    ("25", r"\text{(A)}\ 26"),
    ("25", r"\text{(A)}\ \text{(B)}\ 25"),
    ("f(x)=2x", r"f(x)=3x \text{ for all } x"),
    ("f(x)=2x", r"f(x)=2x \text{ for all } x>0"),
    (r"9.8\ \text{m/s}^2", r"9.8\,\frac{\mathrm{m}}{\mathrm{s}}"),
    (r"[0,\infty)", r"\text{all positive real numbers}"),
    (r"(0,\infty)", r"\text{all negative real numbers}"),
    (r"(-\infty,2)\cup(3,\infty)", r"(-\infty,2)\text{ and }(4,\infty)"),
    (r"(1,2)", r"(0,2)\text{ and }(3,4)"),
    (r"\text{no solution}", r"\{0\}"),
    (r"\text{no solution}", r"\text{one solution}"),
    (r"\text{no integer solutions}", r"\text{no real solutions}"),
    (r"\text{DNE}", r"\text{exists}"),
    (r"\langle 1,2,3\rangle", r"\mathbf{i}+3\mathbf{j}+2\mathbf{k}"),
    (r"\langle 1,2\rangle", r"\hat{i}\cdot\hat{i}+2\hat{j}"),
    (r"\langle 1,2\rangle", r"1+2\hat{j}"),
    ("3+4i", r"3\mathbf{i}+4\mathbf{j}"),
    (r"3 \pmod{7}", r"3 \pmod{8}"),
    (r"3 \pmod{7}", r"4 \pmod{7}"),
    ("3", r"3 \pmod{7}"),
    ("12", r"\lim_{x\to0} f(x)=13"),
    ("12", r"\lim_{x\to0} f(x)=12=13"),
    ("12", r"\sum a_i = 12, 13"),
    ("12", r"\sum a_i"),
]


@pytest.mark.parametrize(
    "gold, answer", [*BOTH_WAYS, *((a, g) for g, a in BOTH_WAYS), *ONE_WAY]
)
def test_another_spelling_is_the_same_value(gold, answer):
    assert grade(f"So $\\boxed{{{answer}}}$.", gold).outcome == "correct"


@pytest.mark.parametrize("gold, answer", NEAR_MISSES)
def test_a_near_miss_is_wrong(gold, answer):
    assert grade(f"So $\\boxed{{{answer}}}$.", gold).outcome == "wrong"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
