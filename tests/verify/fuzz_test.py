"""Random answers: no exception, no hang, no error verdict, the same verdict twice.

The short run is part of `make test`; `pytest -m slow` runs the long one.
"""

import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agrae_jax.verify.grade import decide, grade

PIECES = (
    r"\frac \frac{1}{2} \frac12 \sqrt \sqrt[3]{ \left( \right) \left\{ \right\} "
    r"\{ \} { } ( ) [ ] | \| + - * / ^ ^{ _ _{ = < > \le \ge \ne \approx \in "
    r"\cup \cap \setminus , ; . : ! % \% \$ $ & \\ \cdot \times \div \pm \mp "
    r"\infty \pi e i x y a b f f(x) g( n 0 1 2 3 7 10 12 0.5 .5 1,000 1.2.3 "
    r"10^9 2^{10} 99 5! \sin \cos^2 \log_2 \ln \tan^{-1} \binom{4}{2} "
    r"\sum_{k=1}^{n} \prod_{k=1}^{3} k \begin{pmatrix} \end{pmatrix} "
    r"\begin{vmatrix} \end{vmatrix} \text{ and } \text{or} \text{cm} \text{ "
    r"\mathrm{kg} cm percent \overline{3} 0.\overline{ \dot{3} \mathbb{R} "
    r"\emptyset ^\circ \ldots \mid \choose \over \bmod mod and or to miles yes "
    r"(A) A B \boxed{ \lfloor \rfloor \langle \rangle \prime ' \phantom \quad "
    r"\, \! \; ~ ∞ π √ ² ½ ≤ € ٣ 、 é x_1 204_5 12:30 p.m. \hline \det \max( "
    r"\gcd( \nosuch __import__ lambda "
).split()
TEXT = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join),
    st.text(max_size=30),
)
LONG = int(os.environ.get("AGRAE_FUZZ", "100000"))


def check(gold: str, answer: str) -> None:
    start = time.process_time()
    first = decide(gold, answer)
    assert time.process_time() - start < 5, "too slow"
    assert first[0] in ("correct", "wrong", "ungradable")
    assert first[1] != "error", first
    assert decide(gold, answer) == first
    if first[0] == "correct":
        assert gold.strip() and answer.strip()


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(TEXT, TEXT)
def test_any_pair_gets_a_verdict(gold, answer):
    check(gold, answer)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(TEXT)
def test_any_completion_gets_a_verdict(text):
    for shape in ("{}", "\\boxed{{{}}}", "The answer is {}", "<think>{}</think>"):
        verdict = grade(shape.format(text), "42")
        assert verdict.outcome in ("correct", "wrong") and verdict.rule != "error"
        if verdict.span:
            assert 0 <= verdict.span[0] <= verdict.span[1]


@pytest.mark.slow
@settings(
    max_examples=LONG,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.sampled_from(["42", "x^2+1", "(1,2)", "[0,1)", "x>3", "1,2", "y=2x"]), TEXT)
def test_many_answers_to_usual_golds(gold, answer):
    check(gold, answer)


@pytest.mark.slow
@settings(
    max_examples=LONG,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(TEXT, TEXT)
def test_many_pairs(gold, answer):
    check(gold, answer)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
