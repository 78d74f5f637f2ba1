"""The cache of compiled programs: where it lies, and that a second process reads it."""

import os
import subprocess
import sys

import pytest

from agrae_jax import compilation_cache

PROGRAM = """
import jax, jax.numpy as jnp
from agrae_jax import compilation_cache
print(compilation_cache.enable())
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name))
print(float(jax.jit(lambda x: jnp.sin(x) * 3)(2.0)))
print("/jax/compilation_cache/cache_hits" in hits)
"""


def run(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION")}
    env |= {"XDG_CACHE_HOME": str(tmp_path), "XLA_FLAGS": ""}
    command = [sys.executable, "-c", PROGRAM]
    out = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return out.stdout.split()


def test_the_second_process_compiles_nothing(tmp_path):
    folder, value, hit = run(tmp_path)
    assert folder.startswith(f"{tmp_path}/agrae_jax/xla-") and hit == "False"
    assert run(tmp_path) == [folder, value, "True"]


def test_a_folder_that_cannot_be_made_means_no_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert compilation_cache.enable() is None


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
