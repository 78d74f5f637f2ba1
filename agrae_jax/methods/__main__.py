"""Lists every method with its paper and its status.

python -m agrae_jax.methods               one line each
python -m agrae_jax.methods --markdown    the table of docs/methods.md
"""

from __future__ import annotations

import sys

from agrae_jax.methods import _listing


def main(arguments: list[str]) -> int:
    """Prints the list; returns 1 if a method's file could not be read, 2 if misused."""
    if arguments == ["--markdown"]:
        print(_listing.markdown(), end="")
        return 0
    if arguments:
        print(
            f"error: {arguments[0]} is unknown: --markdown or nothing", file=sys.stderr
        )
        return 2
    found, broken = _listing.lines()
    print("\n".join(found))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
