"""Runs a peer library's script on the same work, in an environment of its own.

The scripts are `peer_hf.py`, `peer_trl.py` and `peer_tunix.py` beside this file. Each
needs its library: name the Python that has it with --peer_python, or with
AGRAE_PEER_PYTHON. The model is handed over as a Hugging Face folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def add_flags(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    """The flags that name a peer."""
    parser.add_argument("--peer", default="", choices=("", *names))
    parser.add_argument(
        "--peer_python",
        default=os.environ.get("AGRAE_PEER_PYTHON", ""),
        help="a Python that has the peer's library",
    )
    parser.add_argument(
        "--peer_preload", default="", help="a library to preload, as LD_PRELOAD does"
    )


def generate(args: argparse.Namespace) -> dict[str, Any]:
    """The peer's sampling: its JSON line, with seconds.median."""
    return _run("generate", args)


def step(args: argparse.Namespace) -> dict[str, Any]:
    """The peer's GRPO step: gen_, train_ and step_seconds, peak_memory_gib."""
    return _run("step", args)


def _run(what: str, args: argparse.Namespace) -> dict[str, Any]:
    if not args.peer_python:
        sys.exit("error: --peer needs --peer_python, a Python that has its library")
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        _write_model(args, model)
        command = [args.peer_python, str(_HERE / f"peer_{args.peer}.py"), what, model]
        for name in ("prompts", "samples", "prompt_tokens", "new_tokens", "dtype"):
            command += [f"--{name}", str(getattr(args, name))]
        command += ["--repeats", str(args.repeats)]
        env = os.environ | {"JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1"}
        env |= {"LD_PRELOAD": args.peer_preload} if args.peer_preload else {}
        done = subprocess.run(command, env=env, capture_output=True, text=True)
    lines = [x for x in done.stdout.splitlines() if x.startswith('{"peer"')]
    if done.returncode or not lines:
        sys.exit(f"error: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(lines[-1])


def _write_model(args: argparse.Namespace, out: str) -> None:
    """In a process of its own, so that it does not count in this one's peak memory."""
    code = "import sys; from experiments.benchmarks import work;"
    code += "work.write_folder(sys.argv[1], sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, args.model, out], check=True)
