"""Collects what the parity tests measured and prints it as one JSON line."""

import json

import pytest

MEASURED: dict[str, float] = {}


@pytest.fixture
def measured():
    return MEASURED


def pytest_terminal_summary(terminalreporter):
    if MEASURED:
        terminalreporter.write_line("measured " + json.dumps(MEASURED))
