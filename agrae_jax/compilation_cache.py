"""Compiled programs kept on disk between runs, so that only the first one compiles."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import jax


def enable() -> Path | None:
    """Turns the cache on in the user's cache folder; None where that cannot be.

    JAX_COMPILATION_CACHE_DIR, if set, decides instead (empty = no cache).
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        chosen = os.environ["JAX_COMPILATION_CACHE_DIR"]
        return Path(chosen) if chosen else None
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "agrae_jax" / f"xla-{_processor()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    return folder


def _processor() -> str:
    """A name for what this processor can run: a home may be shared by unlike ones."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    able = {line for line in lines if line.startswith(("flags", "Features"))}
    return hashlib.sha256("\n".join(sorted(able)).encode()).hexdigest()[:12]
