"""Random answers: no exception, no hang, no error verdict, the same verdict twice.

The short run is part of `make test`; `pytest -m slow` runs the long one.
"""

import itertools
import json
import os
import pathlib
import random
import time

import pytest
from hypothesis import given, settings
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
    r"\gcd( \nosuch __import__ lambda \sum_{k=1}^{n!} \sum_{j=1}^{10^{400}} a_k n! "
    r"\pmod{7} \equiv \" \text{\$} \text{-} \begin{aligned} \mathrm{m/s^2} \mathbf{xy} "
).split()
TEXT = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join),
    st.text(max_size=30),
)
CASES = pathlib.Path(__file__).parent / "golden" / "conventions.jsonl"
GOLDS = [json.loads(line)[0] for line in CASES.read_text("utf-8").splitlines()]
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


def pairs(seed):
    """Usual and random golds with random or damaged answers; cheaper than hypothesis,
    which spends most of its time on choosing."""
    rng = random.Random(seed)
    while True:
        soup = rng.choice(["", " "]).join(rng.choices(PIECES, k=rng.randint(0, 12)))
        usual = rng.random() < 0.6
        gold = rng.choice(GOLDS) if usual else "".join(rng.choices(PIECES, k=6))
        if rng.random() < 0.5:
            yield gold, soup
            continue
        answer = list(rng.choice(GOLDS))
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(answer))
            cut = rng.randint(0, 3)
            answer[at : at + cut] = list(rng.choice(PIECES)) if cut < 2 else []
        yield gold, "".join(answer)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_thousand_pairs(seed):
    for gold, answer in itertools.islice(pairs(seed), LONG // 4):
        check(gold, answer)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
