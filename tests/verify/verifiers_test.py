"""The other verifiers: GSM8K, choice, Geometry3K, a function by its path."""

import importlib.util
import json

import pytest

from agrae_jax.errors import UserError
from agrae_jax.verify import gym, verifiers
from agrae_jax.verify.pool import Pool


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
    got = verifiers.geo3k(text, "5")
    assert 0.9 * got.correct + 0.1 * got.format_ok == pytest.approx(reward, abs=1e-12)


def length_is(text, reference, *, plus=0):
    """A verifier of the kind that a config names by its path."""
    return len(text) == int(reference) + plus


def needy(text, reference, must):
    return True


def test_a_function_by_its_path():
    path = "tests.verify.verifiers_test:length_is"
    assert verifiers.arguments(path) == {"plus": 0}
    verifier = verifiers.resolve(path)
    assert verifier("abc", "3").outcome == "correct"
    assert verifier("abc", "4").outcome == "wrong"
    assert verifiers.resolve(path, plus=1)("abcd", "3").outcome == "correct"


@pytest.mark.parametrize(
    "name",
    [
        "maths",
        "no.such.module:f",
        "os:nosuch",
        "os:sep",
        "tests.verify.verifiers_test:needy",
        "builtins:int",
        "builtins:print",
    ],
)
def test_an_unknown_verifier_is_named(name):
    with pytest.raises(UserError, match=name.replace(".", r"\.")):
        verifiers.resolve(name)


def test_an_unknown_keyword_is_named():
    with pytest.raises(UserError, match="verify.kwargs.tolerance.*strict, rounding"):
        verifiers.resolve("math", tolerance=0.1)


@pytest.mark.parametrize(
    "name,kwargs,message",
    [
        ("math", {"strict": "x"}, "strict = 'x' must be a bool, like True"),
        ("math", {"rounding": -5}, "rounding must be from 0 to 1000, not -5"),
        ("math", {"rounding": 2.5}, "rounding = 2.5 must be a int, like 0"),
        ("math", {"rounding": True}, "rounding = True must be a int, like 0"),
        ("math", {"name": 1}, "verify.kwargs.name is unknown to the verifier 'math'"),
        ("reasoning_gym", {"threshold": 2}, "threshold must be from 0.001 to 1, not 2"),
        ("tests.verify.verifiers_test:length_is", {"plus": "1"}, "plus = '1' must be"),
    ],
)
def test_a_keyword_out_of_its_type_or_range_is_named(name, kwargs, message):
    if name == "reasoning_gym":
        pytest.importorskip("reasoning_gym")
    with pytest.raises(UserError, match=message):
        verifiers.resolve(name, **kwargs)


@pytest.mark.parametrize(
    "gold,answer,outcome",
    [
        ("\\pi", "3.14", "correct"),
        ("\\pi", "3.15", "wrong"),
        ("\\pi", "3.1", "wrong"),  # two digits only
        ("\\frac13", "0.333", "correct"),
        ("\\frac13", "0.334", "wrong"),
        ("2.346", "2.35", "correct"),
        ("2.35", "2.346", "correct"),
        ("1.41", "\\sqrt{2}", "correct"),
        ("314", "3.14", "wrong"),
        ("x", "3.14", "wrong"),
        ("10", "10.4", "wrong"),
    ],
)
def test_rounding_counts_only_where_asked(gold, answer, outcome):
    text = f"\\boxed{{{answer}}}"
    assert verifiers.resolve("math", rounding=3)(text, gold).outcome == outcome
    assert verifiers.resolve("math")(text, gold).outcome == "wrong"


def test_rounding_reaches_the_workers():
    items = [("\\boxed{0.333}", "1/3"), ("\\boxed{1.414}", "\\sqrt2")]
    with Pool(workers=1, kwargs={"rounding": 3}) as pool:
        assert [v.outcome for v in pool.grade(items)] == ["correct"] * 2
    with Pool(workers=1) as pool:
        assert [v.outcome for v in pool.grade(items)] == ["wrong"] * 2


@pytest.mark.parametrize(
    "answer",
    [
        "__import__('os')",
        "print(1)",
        "open ('x')",
        "[].append",
        "(lambda x: 1)(2)",
        "''.join",
        "a[0](3)",
    ],
)
def test_code_is_no_answer_to_a_gym_scorer(answer):
    assert gym.looks_like_code(answer)


@pytest.mark.parametrize(
    "answer", ["[[1, 0], [0, 1]]", "3*(x + 1)", "x (x+2)", "sin(x) + 0.5", "A B. C"]
)
def test_a_value_is_an_answer_to_a_gym_scorer(answer):
    assert not gym.looks_like_code(answer)


def test_gym_scorers_run_in_the_pool():
    if importlib.util.find_spec("reasoning_gym") is None:
        with pytest.raises(UserError, match=r"agrae_jax\[gym\]"):
            verifiers.resolve("reasoning_gym")
        pytest.skip("reasoning-gym is not installed: pip install 'agrae_jax[gym]'")
    entry = {"answer": "12", "metadata": {"source_dataset": "basic_arithmetic"}}
    matrix = {"answer": "0 1\n1 2", "metadata": {"source_dataset": "binary_matrix"}}
    items = [
        ("<think>..</think><answer> 12 </answer>", json.dumps(entry)),
        ("\\boxed{13}", json.dumps(entry)),
        ("<answer>[[0, 1], [1, 2]]</answer>", json.dumps(matrix)),
        ("<answer>__import__('os').getcwd()</answer>", json.dumps(matrix)),
        ("12", json.dumps(entry)),
        ("<answer>12</answer>", "12"),
    ]
    with Pool(workers=1, verifier="reasoning_gym", deadline_s=60) as pool:
        got = pool.grade(items)
    assert [v.outcome for v in got] == [
        "correct", "wrong", "wrong", "wrong", "wrong", "ungradable"
    ]  # fmt: skip
    assert got[3].reason == "the answer looks like code"
    with Pool(
        workers=1, verifier="reasoning_gym", kwargs={"threshold": 0.1}, deadline_s=60
    ) as pool:  # that scorer gives a tenth to a list of lists
        assert pool.grade(items[2:3])[0].outcome == "correct"


def test_math_verify_gives_a_second_opinion():
    assert verifiers.math_verify("\\boxed{\\frac{1}{2}}", "0.5").outcome == "correct"
    assert verifiers.math_verify("\\boxed{\\frac{1}{3}}", "0.5").outcome == "wrong"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
