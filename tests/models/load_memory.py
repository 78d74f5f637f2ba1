"""What `safetensors_folder_test.py` measures in a process of its own.

Usage: python -m tests.models.load_memory FOLDER. Prints one JSON object: the bytes that
loading added to the process at its peak, and the bytes of the parameters.
"""

import json
import resource
import sys

import jax
from jax.sharding import SingleDeviceSharding

from agrae_jax import models
from agrae_jax.models import policy


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(folder):
    built, _ = models.load_policy(folder)
    shapes = policy.param_shapes(built)
    here = SingleDeviceSharding(jax.devices()[0])
    shardings = jax.tree.map(lambda _: here, shapes)
    jax.block_until_ready(jax.device_put(1.0, here))
    before = peak()
    params = models.load_params(folder, built, shardings)
    jax.block_until_ready(params)
    held = sum(x.nbytes for x in jax.tree.leaves(params))
    print(json.dumps({"grown": peak() - before, "params": held}))


if __name__ == "__main__":
    main(sys.argv[1])
