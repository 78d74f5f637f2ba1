"""The BUILD file against the sources, without Bazel: it is read as Python.

Starlark is a subset of Python, so the file is executed with stand-ins for its rules.
"""

import re

import pytest

from tests.source_tree import PACKAGE, ROOT, imports, is_third_party, sources

# Import name -> name in requirements.txt, where they differ.
DISTRIBUTION = {
    "absl": "absl-py",
    "orbax": "orbax-checkpoint",
    "latex2sympy2_extended": "latex2sympy2-extended",
    "math_verify": "math-verify",
    "ml_collections": "ml-collections",
    "tensorflow_datasets": "tensorflow-datasets",
}
# Needed without an import of ours.
NEVER_IMPORTED = {
    "jaxlib": "jax's compiled half; pinned beside it",
    "latex2sympy2-extended": "math-verify parses with it; bounded beside it",
    "array-record": "tensorflow-datasets reads its files with it",
    "antlr4-python3-runtime": "latex2sympy2-extended picks its grammar by it",
    "absl-py": "ml-collections' flags stand on it",
}


def _name(text):
    return re.sub(r"[-_.]+", "-", text).lower()


class _Build:
    def __init__(self):
        self.targets = {}
        self.loads = []
        tree = {
            "load": lambda *names: self.loads.append(names),
            "package": lambda **_: None,
            "exports_files": lambda *_: None,
            "glob": _glob,
            "requirement": lambda name: f"@pypi//{_name(name)}",
            "py_library": self._rule("py_library"),
            "py_binary": self._rule("py_binary"),
            "py_test": self._rule("py_test"),
        }
        exec(compile((ROOT / "BUILD").read_text(), "BUILD", "exec"), tree)

    def _rule(self, kind):
        def rule(*, name, **fields):
            assert name not in self.targets, f"{name} is defined twice"
            self.targets[name] = {"kind": kind, **fields}

        return rule

    def code(self):
        """Targets that hold the package: no tests, no test support, no configs."""
        return {
            name: target
            for name, target in self.targets.items()
            if any(src.startswith("agrae_jax/") for src in target["srcs"])
        }


def _glob(patterns, exclude=(), allow_empty=False):
    found = {p for pattern in patterns for p in ROOT.glob(pattern)}
    found -= {p for pattern in exclude for p in ROOT.glob(pattern)}
    out = sorted(p.relative_to(ROOT).as_posix() for p in found if p.is_file())
    assert out or allow_empty, f"glob {patterns} matches nothing"
    return out


@pytest.fixture(scope="module")
def build():
    return _Build()


def _requirements(name):
    lines = (ROOT / name).read_text().splitlines()
    names = (re.match(r"([A-Za-z0-9_.-]+)\s*[=<>!~;]", line) for line in lines)
    return {_name(match[1]) for match in names if match}


def _used(target):
    """(our modules by path, third-party distributions) that a target imports."""
    ours, others = set(), set()
    for src in target["srcs"]:
        for _, module in imports(ROOT / src, sources()[ROOT / src]):
            top = module.split(".")[0]
            if top == "agrae_jax":
                base = ROOT.joinpath(*module.split("."))
                file = base.with_suffix(".py")
                path = file if file.exists() else base / "__init__.py"
                ours.add(path.relative_to(ROOT).as_posix())
            elif is_third_party(module):
                others.add(_name(DISTRIBUTION.get(top, top)))
    return ours, others


def test_every_file_is_in_exactly_one_target(build):
    owners = {}
    for name, target in build.code().items():
        for src in target["srcs"]:
            owners.setdefault(src, []).append(name)
    files = {p.relative_to(ROOT).as_posix() for p in PACKAGE.rglob("*.py")}
    assert {src: names for src, names in owners.items() if len(names) > 1} == {}
    assert files - owners.keys() == set(), "in no target"
    assert owners.keys() - files == set(), "not on disk"


def test_deps_are_what_the_sources_import(build):
    owner = {src: name for name, t in build.code().items() for src in t["srcs"]}
    wrong = []
    for name, target in build.code().items():
        ours, _ = _used(target)
        # agrae_jax/__init__.py is loaded with any of them; nobody depends on it.
        needed = {owner[path] for path in ours} - {name}
        stated = {d.removeprefix(":") for d in target.get("deps", []) if d[0] == ":"}
        wrong += [f"{name} lacks :{dep}" for dep in sorted(needed - stated)]
        wrong += [f"{name} never imports :{dep}" for dep in sorted(stated - needed)]
    assert not wrong, "\n".join(wrong)


def test_third_party_deps_are_what_the_sources_import(build):
    wrong = []
    for name, target in build.code().items():
        _, needed = _used(target)
        stated = {
            d.removeprefix("@pypi//") for d in target.get("deps", []) if d[0] == "@"
        }
        wrong += [f"{name} lacks {dep}" for dep in sorted(needed - stated)]
        surplus = stated - needed - NEVER_IMPORTED.keys()
        wrong += [f"{name} never imports {dep}" for dep in sorted(surplus)]
    assert not wrong, "\n".join(wrong)


def test_requirements_cover_the_deps_and_hold_nothing_else(build):
    listed = _requirements("requirements.txt")
    used = {
        dep.removeprefix("@pypi//")
        for target in build.code().values()
        for dep in target.get("deps", [])
        if dep.startswith("@pypi//")
    }
    assert used - listed == set(), "used, but not in requirements.txt"
    assert listed - used == set(), "in requirements.txt, but used by no target"


def test_the_lock_pins_every_requirement():
    lock = _requirements("requirements_lock.txt")
    for name in ("requirements.txt", "requirements-dev.txt"):
        assert _requirements(name) - lock == set(), f"of {name}: run `make lock`"
    for line in (ROOT / "requirements_lock.txt").read_text().splitlines():
        assert re.match(r"#|[a-z0-9.-]+==[^ ]+( ; .*)?$", line), f"not a pin: {line}"


def test_every_test_file_has_a_target(build):
    tests = {t["srcs"][0]: t for t in build.targets.values() if t["kind"] == "py_test"}
    on_disk = {p.relative_to(ROOT).as_posix() for p in ROOT.glob("tests/**/*_test.py")}
    assert tests.keys() == on_disk
    support = build.targets["test_support"]["srcs"]
    assert "tests/source_tree.py" in support
    assert not [src for src in support if src.endswith("_test.py")]


def test_mains_exist_and_are_run_as_modules(build):
    binaries = {n: t for n, t in build.targets.items() if t["kind"] == "py_binary"}
    assert "train" in binaries
    for name, target in binaries.items():
        assert target["main"] in target["srcs"], name
        text = (ROOT / target["main"]).read_text()
        assert '__name__ == "__main__"' in text, f"{name} does nothing when run"


def test_labels_resolve_and_rules_are_loaded(build):
    for name, target in build.targets.items():
        for label in target.get("deps", []) + target.get("data", []):
            if label.startswith(":"):
                assert label[1:] in build.targets, f"{name} names {label}"
            elif not label.startswith("@"):
                assert (ROOT / label).exists(), f"{name} names {label}"
    loaded = {rule for _, *rules in build.loads for rule in rules}
    assert loaded >= {t["kind"] for t in build.targets.values()} | {"requirement"}


def test_only_entry_points_and_types_are_public(build):
    public = {
        name
        for name, target in build.targets.items()
        if "//visibility:public" in target.get("visibility", [])
    }
    binaries = {n for n, t in build.targets.items() if t["kind"] == "py_binary"}
    assert public == binaries | {"types"}


def test_module_file_takes_packages_from_the_lock():
    text = (ROOT / "MODULE.bazel").read_text()
    compile(text, "MODULE.bazel", "exec")
    assert 'requirements_lock = "//:requirements_lock.txt"' in text
    version = (ROOT / ".bazelversion").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", version)
    assert int(version.split(".")[0]) >= 7, "older Bazel cannot read MODULE.bazel"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
