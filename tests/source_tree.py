"""Reads the project's own sources: what they import, by file. For structure tests."""

import ast
import fnmatch
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agrae_jax"

# L0 to L5. A folder is one unit; a top-level file is named here or the layering test
# fails, and the same list is the BUILD file's targets.
UNITS: dict[str, tuple[int, str]] = {
    "errors": (0, "errors"),  # apart from types: verify/ may see it, and no jax
    "types": (0, "types"),
    "rl": (1, "rl/"),
    "verify": (1, "verify/"),
    "sharding": (1, "sharding"),
    "methods": (2, "methods/"),
    "models": (2, "models/"),
    "data": (2, "data/"),
    "runtime": (
        3,
        "compilation_cache draws sampling segments scoring minibatch optim "
        "checkpoint checksums "
        "metrics distributed "
        "grading evaluation/ run_directory versions console config config_* preemption "
        "health recompiles claiming",
    ),
    "step": (4, "step update refill feed"),
    "reports": (3, "reports/"),
    "entry": (
        5,
        "report train build build_model reporting evaluator evaluate evaluate_args "
        "eval_tables set_evaluator best grader job memory "
        "step_log replay diverge export plan plan_*",
    ),
}
LAYER = {unit: layer for unit, (layer, _) in UNITS.items()}


def unit_of(module: str) -> str | None:
    """The unit of a dotted module below agrae_jax; None for agrae_jax itself."""
    parts = module.split(".")[1:]
    if not parts:
        return None
    for unit, (_, names) in UNITS.items():
        for name in names.split():
            if fnmatch.fnmatch(parts[0], name.removesuffix("/")):
                return unit
    raise LookupError(
        f"agrae_jax/{parts[0]} has no layer: name it in UNITS of tests/source_tree.py "
        "and in BUILD"
    )


def module_name(path: Path) -> str:
    """agrae_jax/rl/loss.py -> agrae_jax.rl.loss."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def sources(folder: Path = PACKAGE) -> dict[Path, ast.Module]:
    """Every Python file under a folder, parsed."""
    return {
        path: ast.parse(path.read_text(encoding="utf-8"), str(path))
        for path in sorted(folder.rglob("*.py"))
    }


def imports(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted module) of all imports, at any depth of a file.

    `from agrae_jax import errors` gives agrae_jax.errors: the module that is meant.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} has a relative import"
            base = node.module or ""
            for alias in node.names:
                yield node.lineno, _deepest(base, alias.name)


def _deepest(base: str, name: str) -> str:
    candidate = ROOT.joinpath(*base.split("."), name)
    if candidate.with_suffix(".py").exists() or candidate.is_dir():
        return f"{base}.{name}"
    return base


def is_third_party(module: str) -> bool:
    """True for what is neither the standard library nor this project."""
    top = module.split(".")[0]
    return top not in sys.stdlib_module_names and top not in {
        "agrae_jax",
        "configs",
        "experiments",
        "tests",
        "__future__",
    }
