"""Writes problems as a tensorflow-datasets data set, so that a pod reads shards.

    python -m agrae_jax.data.prepare --out=DIR train=jsonl:TRAIN test=parquet:TEST

Each argument is SPLIT=DATASET, a data set named as in `config.data.train`. The last
line says under which name the result is read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agrae_jax.data import checks, datasets
from agrae_jax.errors import UserError


def main(argv: Sequence[str]) -> int:
    """Prepares the splits of a command line; raises `UserError`."""
    out, splits = "", {}
    for word in argv:
        name, equals, value = word.partition("=")
        if name == "--out":
            out = value
        elif equals and value and not name.startswith("-"):
            splits[name] = datasets.load(value, split=name)
        else:
            raise UserError(f"unexpected {word!r}: {_USAGE}")
    if not out or not splits:
        raise UserError(_USAGE)
    if "train" in splits and "test" in splits:
        shared = checks.overlap(splits["train"], splits["test"])
        if shared:
            print(
                f"{len(shared)} test questions are in train too: {shared[0].question}"
            )
    folder = datasets.write_tfds(splits, out)
    for split, problems in splits.items():
        print(f"{split}: {len(problems)} problems")
    print(f"read it as tfds:{folder}")
    return 0


_USAGE = "usage: prepare --out=DIR train=jsonl:PATH [test=parquet:PATH ..]"

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
