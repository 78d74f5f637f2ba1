"""What may change a run's numbers besides its config: versions and this very code."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = (
    "jax jaxlib flax optax orbax-checkpoint numpy transformers tokenizers sympy "
    "math-verify latex2sympy2-extended ml_collections"
).split()


def versions() -> dict[str, Any]:
    """Returns Python, packages (None if missing) and `code`, a hash of our sources."""
    packages: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = None
    code = hashlib.sha256()
    root = Path(__file__).parent
    for source in sorted(root.rglob("*.py")):
        code.update(source.relative_to(root).as_posix().encode() + b"\0")
        code.update(source.read_bytes())
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "packages": packages,
        "code": code.hexdigest()[:16],
    }
