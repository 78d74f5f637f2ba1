"""What the documents promise: links, files, make targets, modules, code."""

import dataclasses
import re

import pytest

from agrae_jax import methods
from agrae_jax.methods import grpo
from agrae_jax.rl import advantages, reductions
from agrae_jax.types import Method
from tests.source_tree import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def _name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [link.split("#")[0] for link in links if "://" not in link]
    missing = [link for link in local if link and not (path.parent / link).exists()]
    assert not missing, f"{_name(path)} links to {missing}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_commands_name_what_exists(path):
    text = path.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.M))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, flags=re.M))
    assert named <= targets, f"no such make target: {named - targets}"
    for config in re.findall(r"configs/\w+\.py", text):
        assert (ROOT / config).exists(), config
    for module in re.findall(r"python -m (agrae_jax[\w.]*|experiments[\w.]+)", text):
        base = ROOT.joinpath(*module.split("."))
        main = base / "__main__.py"
        assert base.with_suffix(".py").exists() or main.exists(), module


def test_the_tests_that_reliability_names_are_there():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    sources = "".join(p.read_text() for p in ROOT.glob("tests/**/*_test.py"))
    found = set(re.findall(r"^def (test_\w+)", sources, flags=re.M))
    assert len(named) > 25 and not named - found, named - found


def test_the_readme_begins_with_the_two_commands():
    first_screen = (ROOT / "README.md").read_text().splitlines()[:25]
    assert any(line.startswith("make quickstart") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)


def test_the_readme_method_is_a_method():
    text = (ROOT / "README.md").read_text()
    (code,) = re.findall(r"```python\n(import.*?def make.*?)```", text, flags=re.S)
    scope = {
        "Method": Method,
        "dataclasses": dataclasses,
        "grpo": grpo,
        "advantages": advantages,
        "reductions": reductions,
    }
    exec(code, scope)
    made = scope["make"](clip=0.3)
    assert made.name == "mine"
    like = methods.resolve("dr_grpo")
    assert made.base is like.base and made.reduction is like.reduction
    assert made.surrogate.keywords["low"] == 0.3


def test_the_changelog_has_an_unreleased_part():
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text()


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
