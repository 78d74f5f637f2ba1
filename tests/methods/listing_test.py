"""The list of methods, the table of docs/methods.md, and files that do not import."""

import pytest

from agrae_jax import methods
from agrae_jax.methods import __main__, _listing
from tests.source_tree import ROOT


def test_the_documents_table_is_what_the_methods_say():
    """Make it again: python -m agrae_jax.methods --markdown"""
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    start = "<!-- made by: python -m agrae_jax.methods --markdown -->\n"
    table = text.partition(start)[2].partition("<!-- end -->")[0]
    assert table == _listing.markdown()


def test_every_method_states_its_own_formula():
    formulas = [methods.resolve(name).formula for name in methods.names()]
    assert all(formulas)
    assert len(set(formulas)) == len(formulas)  # none is its base's


def test_parts_are_those_that_differ_from_grpo():
    plain = methods.resolve("grpo")

    def parts(name, **kwargs):
        return _listing.slots(methods.resolve(name, **kwargs), plain)

    assert parts("a_grae") == ["shapers"]
    assert parts("dr_grpo") == ["base", "reduction"]
    assert parts("gspo") == ["surrogate"]
    assert parts("grpo") == []
    assert "refill" in parts("dapo", dynamic_sampling=True)
    assert parts("sec") == ["state", "curriculum"]


def test_a_file_that_does_not_import_costs_one_line(monkeypatch, capsys):
    real = methods.resolve

    def resolve(name, **kwargs):
        if name == "gspo":
            raise ImportError("no module named flux\nand more")
        return real(name, **kwargs)

    monkeypatch.setattr(methods, "resolve", resolve)
    assert __main__.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == methods.names()
    (bad,) = [line for line in lines if line.startswith("gspo")]
    assert bad.split()[1:] == "broken ImportError: no module named flux".split()


def test_an_unknown_flag_is_named(capsys):
    assert __main__.main(["--latex"]) == 2
    assert "--latex" in capsys.readouterr().err


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
