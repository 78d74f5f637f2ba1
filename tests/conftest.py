"""Settings of all tests, before anything imports jax."""

import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Eight fake devices, so that every sharding is exercised; default arrays stay on one.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)

# Many tests compile the same small programs again. Kept on disk, a first run takes a
# third less time, and a later one half. Child processes inherit it.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR",
    str(Path(__file__).resolve().parent.parent / ".jax_cache"),
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Files are handed out whole to the processes of `make test`: the longest go first, so
# that all processes end at about the same time.
_LONGEST = (
    "methods/contract_test.py",
    "models/decoder_test.py",
    "reliability_test.py",
    "distributed_test.py",
    "train_test.py",
    "step_test.py",
    "chaos_test.py",
    "smollm2_test.py",
    "evaluate_test.py",
    "invariance_test.py",
    "segments_test.py",
    "verify/hostile_test.py",
    "verify/pool_test.py",
)
_HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items):
    """Puts the longest files first; the order within a file stays."""
    place = {name: i for i, name in enumerate(_LONGEST)}

    def key(item):
        return place.get(item.path.relative_to(_HERE).as_posix(), len(place))

    items.sort(key=key)
