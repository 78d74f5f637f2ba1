"""Where tests find large data that is not part of this repository."""

import os
from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    """Returns the path of a shared file or folder, or skips the test and says why.

    Looks in $AGRAE_SHARED_DATA, else in the folder shared/data beside the checkout.
    """
    default = Path(__file__).resolve().parent.parent / "../shared/data"
    root = Path(os.environ.get("AGRAE_SHARED_DATA", default))
    path = (root / name).resolve()
    if not path.exists():
        pytest.skip(
            f"SKIPPED FOR WANT OF DATA: {name} is not in {root}; "
            "set AGRAE_SHARED_DATA to the folder that has it"
        )
    return path
