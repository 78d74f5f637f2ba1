"""Runs a config file, and says in one line what is wrong with it."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from agrae_jax import config_docs, config_text
from agrae_jax.errors import UserError


def execute(path: str) -> Any:
    """What `get_config()` of a Python file returns; `FILE:word` hands it a word.

    Raises `UserError` for a missing file and for whatever goes wrong in it.
    """
    name, colon, argument = path, "", ""
    if not Path(path).is_file():
        name, colon, argument = path.partition(":")
    file = Path(name)
    if not file.is_file():
        folder = file.parent if file.parent.is_dir() else config_docs.BASE.parent
        there = sorted(str(found) for found in folder.glob("*.py"))
        hint = config_text.near(name, there)
        raise UserError(f"config file {name} does not exist; {hint}")
    root = str(config_docs.BASE.parents[1])
    if root not in sys.path:
        sys.path.append(root)  # configs start from `configs.base`
    spec = importlib.util.spec_from_file_location(f"_config_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UserError(f"config file {name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return module.get_config(*([argument] if colon else []))
    except (Exception, SystemExit) as error:  # whatever a config file may do wrong
        at = [
            f for f in traceback.extract_tb(error.__traceback__) if f.filename == name
        ]
        line = f" line {at[-1].lineno}" if at else ""
        raise UserError(f"{name}{line}: {type(error).__name__}: {error}") from None
