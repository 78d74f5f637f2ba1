"""Collects what the parity tests measured and prints it as one JSON line."""

import json
import os

import pytest

# torch's OpenMP threads spin: on a busy machine two are twenty times slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

MEASURED: dict[str, float] = {}


@pytest.fixture
def measured():
    return MEASURED


def pytest_terminal_summary(terminalreporter):
    if MEASURED:
        terminalreporter.write_line("measured " + json.dumps(MEASURED))
        if "AGRAE_PARITY_JSON" in os.environ:
            with open(os.environ["AGRAE_PARITY_JSON"], "w", encoding="utf-8") as file:
                json.dump(MEASURED, file, indent=2)
