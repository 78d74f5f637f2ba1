"""The shape of the code, checked: layers, doors, where jit lives, lengths, names."""

import ast
import fnmatch
import re
import statistics
import sys

import pytest

from tests.source_tree import (
    LAYER,
    PACKAGE,
    ROOT,
    UNITS,
    imports,
    is_third_party,
    module_name,
    sources,
    unit_of,
)

# One door per dependency: a pin that breaks then breaks one file.
DOORS = {
    "jax": "*",
    "numpy": "*",
    "ml_dtypes": "models/*",
    "flax": "models/*",
    "safetensors": "models/*",
    "gguf": "models/*",
    "optax": "optim.py",
    "orbax": "checkpoint.py",
    "transformers": "data/tokenizer.py models/*/convert.py",
    "tokenizers": "data/tokenizer*.py models/*/convert.py",
    "jinja2": "data/templates.py reports/page.py",
    "matplotlib": "reports/curves.py",
    "tensorflow_datasets": "data/datasets.py",
    "pyarrow": "data/datasets.py",
    "sympy": "verify/symbolic.py",
    "mpmath": "verify/symbolic.py",
    "latex2sympy2_extended": "verify/symbolic.py",
    "math_verify": "verify/symbolic.py",
    "ml_collections": "config.py",
    "absl": "config.py",
    "rich": "console.py",
}
HARD_CAP, SOFT_CAP = 400, 250  # lines of a file


def _relative(path):
    return path.relative_to(PACKAGE).as_posix()


def _allowed(path, patterns):
    return any(fnmatch.fnmatch(_relative(path), p) for p in patterns.split())


def _below(folder):
    return [path for path in folder.rglob("*") if path.is_dir()]


def _each_import():
    for path, tree in sources().items():
        for line, module in imports(path, tree):
            yield path, line, module


def test_imports_point_down_or_stay_in_their_unit():
    wrong = []
    for path, line, module in _each_import():
        if module.split(".")[0] != "agrae_jax":
            continue
        here, there = unit_of(module_name(path)), unit_of(module)
        if here is None or there is None or here == there:
            continue
        if LAYER[there] >= LAYER[here]:
            wrong.append(f"{_relative(path)}:{line} ({here}) imports {module}")
    assert not wrong, "\n".join(wrong)


def test_every_unit_names_files_that_exist():
    named = " ".join(names for _, names in UNITS.values()).split()
    assert len(named) == len(set(named))
    for name in named:
        found = list(PACKAGE.glob(name if name.endswith("/") else f"{name}.py"))
        assert found, f"UNITS names {name}, which is not there"


def test_step_sampler_and_scorer_take_values_not_packages():
    wrong = [
        f"{_relative(path)}:{line} imports {module}"
        for path, line, module in _each_import()
        if _relative(path) in {"step.py", "sampling.py", "scoring.py"}
        and re.match(r"agrae_jax\.(models|methods|config)\b", module)
    ]
    assert not wrong, "\n".join(wrong)


def test_one_door_per_dependency():
    wrong = []
    for path, line, module in _each_import():
        top = module.split(".")[0]
        if not is_third_party(module):
            continue
        if top not in DOORS:
            wrong.append(f"{_relative(path)}:{line} imports {top}: give it a door")
        elif not _allowed(path, DOORS[top]):
            wrong.append(f"{_relative(path)}:{line} imports {top}, not by its door")
    assert not wrong, "\n".join(wrong)


def test_verify_imports_no_jax():
    # Neither itself nor through a file of ours that does.
    wrong = [
        f"{_relative(path)}:{line} imports {module}"
        for path, line, module in _each_import()
        if _relative(path).startswith("verify/")
        and (
            module.split(".")[0] in {"jax", "jaxlib", "flax"}
            or re.match(r"agrae_jax\.(?!verify\b|errors\b)", module)
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_rl_and_methods_see_no_config_and_do_no_io():
    wrong = []
    for path, tree in sources().items():
        if not re.match(r"(rl|methods)/(?!__main__)", _relative(path)):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and node.arg in {"config", "cfg"}:
                wrong.append(f"{_relative(path)}:{node.lineno} takes a config")
            if isinstance(node, ast.Name) and node.id in {"open", "print"}:
                wrong.append(f"{_relative(path)}:{node.lineno} does I/O")
    assert not wrong, "\n".join(wrong)


def test_jit_lives_in_few_places():
    wrong = []
    for path, tree in sources().items():
        relative = _relative(path)
        if relative in {"step.py", "sampling.py", "segments.py", "scoring.py"}:
            continue
        if unit_of(module_name(path)) == "entry":
            continue
        for node in ast.walk(tree):
            named = (isinstance(node, ast.Attribute) and node.attr == "jit") or (
                isinstance(node, ast.alias) and node.name == "jit"
            )
            if named:
                wrong.append(f"{relative}:{getattr(node, 'lineno', '?')} uses jit")
    assert not wrong, "\n".join(wrong)


def test_mesh_axes_are_named_only_in_sharding_files():
    wrong = []
    for path, tree in sources().items():
        if _allowed(path, "sharding.py models/*/sharding.py"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in ("fsdp", "tensor"):
                wrong.append(f"{_relative(path)}:{node.lineno} names {node.value!r}")
    assert not wrong, "\n".join(wrong)


def test_configs_import_nothing_of_ours():
    wrong = []
    for path, tree in sources(ROOT / "configs").items():
        for line, module in imports(path, tree):
            top = module.split(".")[0]
            if top not in sys.stdlib_module_names | {"ml_collections", "configs"}:
                wrong.append(f"{path.name}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_experiment_tables_import_nothing_of_ours():
    wrong = []
    for path, tree in sources(ROOT / "experiments").items():
        targets = [
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        if "RUNS" in targets:
            wrong += [
                f"{path.name}:{line} imports {module}"
                for line, module in imports(path, tree)
                if module.split(".")[0] == "agrae_jax"
            ]
    assert not wrong, "\n".join(wrong)


def test_files_stay_short():
    lengths = {
        _relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources()
    }
    assert len(lengths) > 30
    too_long = {name: n for name, n in lengths.items() if n > HARD_CAP}
    assert not too_long, f"over {HARD_CAP} lines: {too_long}"
    # What separates a joy from a chore is the 90th percentile.
    over = sorted(name for name, n in lengths.items() if n > SOFT_CAP)
    assert len(over) <= len(lengths) // 10, f"too many over {SOFT_CAP} lines: {over}"
    assert statistics.median(lengths.values()) <= 150


def test_no_file_is_a_drawer():
    names = {
        path.name
        for folder in ("agrae_jax", "configs", "experiments", "tests")
        for path in sources(ROOT / folder)
    }
    drawers = re.compile(r"(utils?|helpers?|misc|common|core|.*_v\d+)\.py")
    assert not [name for name in names if drawers.fullmatch(name)]


def test_tests_mirror_the_package_and_run_as_scripts():
    wrong = []
    for path, tree in sources(ROOT / "tests").items():
        if not path.name.endswith("_test.py"):
            continue
        last = ast.unparse(tree.body[-1]) if tree.body else ""
        if "__name__ == '__main__'" not in last or "pytest.main" not in last:
            wrong.append(f"{path.relative_to(ROOT)} does not end with pytest.main")
    assert not wrong, "\n".join(wrong)


def test_no_committed_file_names_a_machine():
    # Paths of one machine and hosts of one registry help nobody else.
    words = ["/work" + "/main", "/work" + "/shared", "../" + "shared", "/root" + "/"]
    wrong = []
    tops = ("agrae_jax", "configs", "docs", "experiments", "tests", ".ci")
    folders = [ROOT] + [p for top in tops for p in (ROOT / top, *_below(ROOT / top))]
    for pattern in ("*.py", "*.md", "*.toml", "*.txt", "Makefile", "BUILD", "run"):
        for path in [p for folder in folders for p in folder.glob(pattern)]:
            relative = path.relative_to(ROOT)
            if relative.as_posix() == "tests/shared_data.py":
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            wrong += [f"{relative} has {word}" for word in words if word in text]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
