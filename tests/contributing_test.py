"""The method that CONTRIBUTING shows as a diff is the one in the repository."""

import re

import pytest

from tests.source_tree import ROOT


def test_the_diff_makes_the_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (diff,) = re.findall(r"```diff\n(.*?)```", text, flags=re.S)
    made = {}
    for part in diff.split("--- /dev/null\n")[1:]:
        head, _, *lines = part.splitlines()
        assert all(line.startswith("+") for line in lines)
        made[head.removeprefix("+++ b/")] = "".join(line[1:] + "\n" for line in lines)
    assert sorted(made) == [
        "agrae_jax/methods/best_of_group.py",
        "tests/methods/best_of_group_test.py",
    ]
    for path, content in made.items():
        assert (ROOT / path).read_text(encoding="utf-8") == content, path


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
