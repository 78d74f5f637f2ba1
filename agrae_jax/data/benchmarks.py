"""The papers' data sets by name, and how each paper evaluates on them.

One entry of `BENCHMARKS` is all that a new one needs: `config.data.test = "math500"`
then reads `FOLDER/math500.jsonl`. The files are not ours to give out; where to get
them stands in the entry.

    python -m agrae_jax.data.benchmarks > docs/datasets.md
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from agrae_jax.errors import UserError

FOLDER_VARIABLE = "AGRAE_JAX_DATA"  # the environment's word for the folder


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a paper samples for evaluation, under the names of `config.eval`."""

    temperature: float
    top_p: float
    samples: int
    max_new_tokens: int
    runs: int | None  # evaluations averaged in a published cell; None = not stated

    def fields(self) -> dict[str, float | int]:
        """Values for `config.eval`."""
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": 0,
            "samples": self.samples,
            "max_new_tokens": self.max_new_tokens,
        }


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A data set: its files by split with their number of rows, and its origin."""

    title: str
    files: Mapping[str, tuple[str, int]]
    origin: str
    protocols: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)


def _a_grae(runs: int) -> dict[str, Protocol]:
    # A-GRAE, arXiv 2602.05548, section on evaluation: pass@k up to 256.
    return {"a_grae": Protocol(0.6, 0.95, 256, 4096, runs)}


def _asym_grpo(samples: int) -> dict[str, Protocol]:
    # AsymGRPO, arXiv 2604.04894: avg@5 or avg@10. That the small sets have 10 follows
    # from its cells, which are multiples of 1 / (10 problems) there.
    return {"asym_grpo": Protocol(0.4, 1.0, samples, 4096, None)}


BENCHMARKS: dict[str, Benchmark] = {
    "math": Benchmark(
        "MATH",
        {"train": ("math_train.jsonl", 7500), "test": ("math_test.jsonl", 5000)},
        "Hendrycks et al. 2021 (MIT); in github.com/TianHongZXY/RLVR-Decomposed",
        _a_grae(runs=4),
    ),
    "math500": Benchmark(
        "MATH-500",
        {"test": ("math500.jsonl", 500)},
        "500 problems of MATH test, Lightman et al. 2023; in"
        " github.com/sail-sg/understand-r1-zero",
        _asym_grpo(samples=5),
    ),
    "aime24": Benchmark(
        "AIME 2024",
        {"test": ("aime2024.jsonl", 30)},
        "(c) MAA; in github.com/QwenLM/Qwen2.5-Math evaluation/data/aime24",
        _asym_grpo(samples=10),
    ),
    "aime25": Benchmark(
        "AIME 2025",
        {"test": ("aime2025.jsonl", 30)},
        "(c) MAA; parquet in github.com/TianHongZXY/RLVR-Decomposed",
        _a_grae(runs=16) | _asym_grpo(samples=10),
    ),
    "amc23": Benchmark(
        "AMC 12 2023",
        {"test": ("amc23.jsonl", 40)},
        "(c) MAA, integer answers; parquet in github.com/TianHongZXY/RLVR-Decomposed",
        _a_grae(runs=16) | _asym_grpo(samples=10),
    ),
    "olympiadbench": Benchmark(
        "OlympiadBench, English open-ended mathematics",
        {"test": ("olympiadbench_oe_to_maths_en.jsonl", 675)},
        "He et al. 2024; in github.com/QwenLM/Qwen2.5-Math evaluation/data",
        _asym_grpo(samples=5),
    ),
    "gsm8k": Benchmark(
        "GSM8K",
        {"train": ("gsm8k_train.jsonl", 7473), "test": ("gsm8k_test.jsonl", 1319)},
        "Cobbe et al. 2021 (MIT); github.com/openai/grade-school-math",
    ),
    "minerva": Benchmark(
        "Minerva MATH",
        {"test": ("minerva_math.jsonl", 272)},
        "Lewkowycz et al. 2022; in github.com/QwenLM/Qwen2.5-Math evaluation/data",
    ),
}


def find(name: str, split: str, folder: str = "") -> tuple[Path, int]:
    """The file of a benchmark's split and the number of its rows.

    It lies in `folder`, else in the folder that $AGRAE_JAX_DATA names, else in `data`.
    Raises `UserError` for a split that the benchmark lacks.
    """
    benchmark = BENCHMARKS[name]
    if split not in benchmark.files:
        raise UserError(
            f"{name} has no {split} split, only {', '.join(benchmark.files)}"
        )
    file, rows = benchmark.files[split]
    return Path(folder or os.environ.get(FOLDER_VARIABLE, "data")) / file, rows


def protocol(name: str, paper: str) -> Protocol:
    """How `paper` (a_grae, asym_grpo) evaluates on a benchmark.

    Raises `UserError` where it does not.
    """
    found = BENCHMARKS[name].protocols if name in BENCHMARKS else {}
    if paper not in found:
        used = [key for key, value in BENCHMARKS.items() if paper in value.protocols]
        raise UserError(
            f"{paper} has no protocol for {name}; it evaluates on"
            f" {', '.join(used) or 'nothing here'}"
        )
    return found[paper]


def markdown() -> str:
    """`docs/datasets.md`."""
    lines = [
        "# Data sets by name",
        "",
        "Made by `python -m agrae_jax.data.benchmarks`; change the table there.",
        "",
        "`--config.data.test=NAME` reads the file from"
        f" `--config.data.test_kwargs.folder=DIR`, else from `${FOLDER_VARIABLE}`, else"
        " from `data/`. A file has one JSON object a line: `problem` (or `question`),"
        " `answer` (or `gold`), and if it likes `level`, `subject`, `id`. We give none"
        " of them out.",
        "",
        "| name | data set | split: file (rows) | where to get it |",
        "|---|---|---|---|",
    ]
    for name, benchmark in BENCHMARKS.items():
        files = "; ".join(
            f"{split}: `{file}` ({rows})"
            for split, (file, rows) in benchmark.files.items()
        )
        lines.append(f"| `{name}` | {benchmark.title} | {files} | {benchmark.origin} |")
    lines += [
        "",
        "## How the papers evaluate",
        "",
        "Top-k is off in all of them. *runs* is the number of evaluations averaged in a"
        " published cell.",
        "",
        "| name | paper | temperature | top-p | samples | new tokens | runs |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, benchmark in BENCHMARKS.items():
        for paper, p in benchmark.protocols.items():
            runs = "not stated" if p.runs is None else str(p.runs)
            lines.append(
                f"| `{name}` | {paper} | {p.temperature} | {p.top_p} | {p.samples} |"
                f" {p.max_new_tokens} | {runs} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
