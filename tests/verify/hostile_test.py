"""Inputs made to hang, crash, execute or fill memory: the right outcome, in time."""

import pathlib
import tempfile
import time

import pytest

from agrae_jax.verify.grade import grade
from agrae_jax.verify.pool import Pool

CANARY = pathlib.Path(tempfile.gettempdir()) / "agrae_verify_canary_hostile"
TOUCH = f"__import__('os').system('touch {CANARY}')"

NOT_CORRECT = {  # name: (gold, completion)
    "tower": ("5", "\\boxed{10**10**10}"),
    "tex tower": ("5", "\\boxed{9^{9^{9^{9}}}}"),
    "huge base": ("5", "\\boxed{" + "9" * 3000 + "^{" + "9" * 3000 + "}}"),
    "tiny power": ("1", "\\boxed{1+10^{-10^{10}}}"),
    "factorial tower": ("6", "\\boxed{((((99!)!)!)!)!}"),
    "big factorial": ("6", "\\boxed{99999999!}"),
    "binomial": ("6", "\\boxed{\\binom{10^9}{5\\cdot 10^8}}"),
    "exponentials": ("0", "\\boxed{e^{e^{e^{e^{e^{10}}}}}}"),
    "sines": ("1", "\\boxed{" + "\\sin(" * 400 + "1" + ")" * 400 + "}"),
    "sum": ("0", "\\boxed{\\sum_{k=1}^{10^{12}} \\frac1k}"),
    "nested sums": ("1", "\\boxed{" + "\\sum_{k=1}^{1999}" * 12 + "k}"),
    "product": ("1", "\\boxed{\\prod_{k=1}^{1999} k^{1999}}"),
    "polynomial": ("x", "\\boxed{(x+1)^{100000}-x^{99999}}"),
    "root": ("2", "\\boxed{\\sqrt[10^9]{2}}"),
    "remainder": ("2023", "\\boxed{2023^{2023^{2023}} \\bmod 1000}"),
    "mixed numbers": ("1", "\\boxed{" + "2\\frac{" * 50 + "1" + "}{2}" * 50 + "}"),
    "fractions": ("1", "\\boxed{" + "\\frac{1}{1+" * 5000 + "1" + "}" * 5000 + "}"),
    "brackets": ("6", "\\boxed{" + "(" * 100_000 + "5" + ")" * 100_000 + "}"),
    "open brackets": ("5", "\\boxed{" + "[" * 50_000 + "}"),
    "braces": ("5", "{" * 1_000_000),
    "open boxes": ("5", "\\boxed{" * 50_000),
    "boxes": ("5", "\\boxed{4} " * 50_000),
    "phrases": ("5", "the answer is " * 50_000),
    "thinking": ("5", "<think>" * 100_000 + "\\boxed{5}"),
    "signs": ("5", "\\boxed{" + "-" * 100_000 + "4}"),
    "pluses": ("5", "\\boxed{" + "1+" * 20_000 + "1}"),
    "primes": ("5", "\\boxed{f" + "'" * 10_000 + "}"),
    "subscripts": ("5", "\\boxed{" + "x_" * 3000 + "}"),
    "powers": ("5", "\\boxed{" + "2^" * 3000 + "2}"),
    "list": ("5", "\\boxed{" + ",".join(map(str, range(3000))) + "}"),
    "long list": ("1,2", "\\boxed{" + ",".join(["\\sqrt{2}"] * 900) + "}"),
    "digits": ("5", "\\boxed{" + "9" * 1_000_000 + "}"),
    "decimals": ("5", "\\boxed{4." + "9" * 1_000_000 + "}"),
    "spaces": ("5", "\\boxed{" + " " * 1_000_000 + "4}"),
    "dollars": ("5", "\\boxed{" + "$" * 1_000_000 + "}"),
    "backslashes": ("5", "\\boxed{" + "\\\\" * 500_000 + "}"),
    "text": ("5", "\\boxed{" + "\\text{" * 5000 + "}" * 5000 + "}"),
    "fracs": ("5", "\\boxed{" + "\\frac" * 5000 + "}"),
    "thousands": ("5", "\\boxed{" + "1,000" * 2000 + "}"),
    "nul": ("5", "\\boxed{\x00}"),
    "surrogates": ("5", "\\boxed{\udcff\udc80}"),
    "look-alike": ("a", "\\boxed{\u0430}"),  # Cyrillic
    "look-alike digit": ("5", "\\boxed{\u01bc}"),
    "direction": ("12", "\\boxed{\u202e21\u202c3}"),
    "import": ("0", f"\\boxed{{{TOUCH}}}"),
    "import after": ("5", f"\\boxed{{5; {TOUCH}}}"),
    "eval": ("2", '\\boxed{eval("1+1")}'),
    "call": ("0", "\\boxed{quit(0)}"),
    "or": ("2", '\\boxed{exec("x=2") or 2}'),
    "sympy": ("5", "\\boxed{sympify('5')}"),
    "input": ("0", "\\boxed{\\input{/etc/passwd}}"),
    "write18": ("0", f"\\boxed{{\\write18{{touch {CANARY}}}}}"),
    "builtin": ("5", "\\boxed{abs(-5)}"),
    "empty": ("5", "\\boxed{}"),
    "question": ("5", "\\boxed{5?}"),
    "all": ("5", "\\boxed{1,2,3,4,5,6}"),
    "interval": ("5", "\\boxed{[0,10]}"),
    "tautology": ("x=5", "\\boxed{x=x}"),
    "zero equation": ("2x+4y-3=0", "\\boxed{0=0}"),
    "letter": ("7", "\\boxed{x}"),
}
CORRECT = {
    "long prose": ("5", "\\boxed{5}" + " and so on" * 100_000),
    "many brackets": ("5", "\\boxed{" + "(" * 5000 + "5" + ")" * 5000 + "}"),
    "long integer": ("7" * 9000, "\\boxed{" + "7" * 9000 + "}"),
    "ones": ("500", "\\boxed{" + "1+" * 499 + "1}"),
    "the same tower": ("9^{9^{9^9}}", "\\boxed{9^{9^{9^9}}}"),
    "nul around": ("5", "\x00\\boxed{5}\x00"),
    "invalid bytes around": ("5", b"\xff\xfe\\boxed{5}".decode(errors="replace")),
}


def test_hostile_inputs_are_graded_in_time_and_nothing_is_executed():
    CANARY.unlink(missing_ok=True)
    names = [*NOT_CORRECT, *CORRECT]
    items = [(text, gold) for gold, text in (NOT_CORRECT | CORRECT).values()]
    start = time.monotonic()
    with Pool(workers=2, deadline_s=10) as pool:
        got = dict(zip(names, pool.grade(items), strict=True))
        stats = pool.stats()
    assert time.monotonic() - start < 100  # 3 s on an idle machine
    assert [n for n in NOT_CORRECT if got[n].outcome == "correct"] == []
    assert [n for n in CORRECT if got[n].outcome != "correct"] == []
    assert [n for n in names if got[n].rule in ("error", "deadline", "worker")] == []
    assert stats["workers_started"] == 2  # none was lost
    assert not CANARY.exists()


@pytest.mark.parametrize("name", NOT_CORRECT)
def test_hostile_inputs_are_never_correct_in_process(name):
    gold, text = NOT_CORRECT[name]
    start = time.process_time()
    assert grade(text, gold).outcome != "correct"
    assert time.process_time() - start < 5


def test_a_hostile_gold_is_ungradable_or_compared_as_text():
    for gold in ("10^{10^{10^{10}}}", "((99!)!)!", "\\sum_{k=1}^{10^9} k", "{" * 500):
        assert grade("\\boxed{3}", gold).outcome in ("wrong", "ungradable")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
