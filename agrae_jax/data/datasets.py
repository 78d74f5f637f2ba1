"""Data sets by name, and the doors of their formats.

A name is the built-in generator (`arithmetic`), a benchmark (`math500`, see
`benchmarks.py`) or `SOURCE:PLACE`: `jsonl:PATH`, `parquet:PATH`, `tfds:NAME` (or the
folder of a prepared one). Every source gives a list of `Problem`; a row that cannot
be one is a `UserError` with file and row number.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agrae_jax.data import arithmetic as _arithmetic
from agrae_jax.data import benchmarks, checks, rows
from agrae_jax.data.problem import Problem as Problem
from agrae_jax.errors import UserError

_log = logging.getLogger(__name__)

Source = Callable[..., list[Problem]]  # (place, split, *, keywords) -> problems


def load(name: str, *, split: str, **kwargs: Any) -> list[Problem]:
    """The problems of a data set, in the order of the source.

    Rows with an empty gold are left out, and they, duplicate ids and repeated
    questions are reported as warnings of the log. Raises `UserError` for an unknown
    name or keyword, a missing file and a bad row.
    """
    source, place = _resolve(name)
    unknown = [key for key in kwargs if key not in signature_defaults(name)]
    if unknown:
        known = ", ".join(signature_defaults(name)) or "none"
        raise UserError(f"data set {name} takes no {unknown[0]!r}; known: {known}")
    try:
        missing = missing_file(name, split, kwargs.get("folder", ""))
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise UserError(f"data set {name[:80]}: {error}") from None
    if missing is not None:
        raise UserError(f"data set {name}: {not_there(name, missing)}")
    problems = source(place, split, **kwargs)
    if not problems:
        raise UserError(f"data set {name} is empty")
    for note in checks.notes(name, problems):
        _log.warning(note)
    kept = [problem for problem in problems if problem.answer]
    if not kept:
        raise UserError(f"data set {name} has no problem with an answer")
    return kept


def signature_defaults(name: str) -> dict[str, Any]:
    """The keywords that `load` takes for this data set, with their defaults."""
    source, _ = _resolve(name)
    parameters = inspect.signature(source).parameters.values()
    named = any(p.kind is p.VAR_KEYWORD for p in parameters)
    fields = dataclasses.asdict(rows.Fields()) if named else {}
    return fields | {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def missing_file(name: str, split: str, folder: str = "") -> Path | None:
    """The file that a data set name points to and that is not there, if so.

    Links are followed; a pipe or a device is no file, for it would be waited for.
    """
    source, place = _resolve(name)
    if source is benchmark:
        path, _ = benchmarks.find(place, split, folder)
        return None if path.is_file() else path
    if source in (jsonl, parquet):
        return None if Path(place).is_file() else Path(place)
    is_folder = place.startswith(("/", ".")) and not Path(place).is_dir()
    return Path(place) if is_folder else None


def not_there(name: str, missing: Path) -> str:
    """What to say of a missing file, and of a benchmark's where it is looked for."""
    if missing.exists():
        kind = "folder" if name.startswith("tfds:") else "regular file"
        return f"{missing} is not a {kind}"
    if name not in benchmarks.BENCHMARKS:
        return f"{missing} does not exist"
    return (
        f"{missing} does not exist: set ${benchmarks.FOLDER_VARIABLE} to the folder"
        " that has it (docs/datasets.md says where to get it)"
    )


def arithmetic(
    place: str,
    split: str,
    *,
    seed: int = 0,
    size: int = 600,
    levels: tuple[str, ...] = _arithmetic.DEFAULT_LEVELS,
) -> list[Problem]:
    """Arithmetic in plain English, made on the spot (`data/arithmetic.py`)."""
    del place
    return _arithmetic.arithmetic(split, seed=seed, size=size, levels=levels)


def benchmark(place: str, split: str, *, folder: str = "") -> list[Problem]:
    """A benchmark by name, from `folder`, $AGRAE_JAX_DATA or `data`."""
    path, count = benchmarks.find(place, split, folder)
    problems = jsonl(str(path), split)
    if len(problems) != count:
        _log.warning(f"{place}: {path} has {len(problems)} rows, published are {count}")
    return problems


def jsonl(place: str, split: str, **fields: str) -> list[Problem]:
    """One JSON object a line. `fields` (question, answer, level, subject) name those
    that are not the usual ones.

    Usual: question or problem; answer or gold (or the last box of solution); level;
    subject or type; id. A dot goes into an object.
    """
    del split
    names = rows.Fields(**fields)
    found = enumerate(rows.from_jsonl(place))
    return [rows.to_problem(row, i, where, names) for i, (where, row) in found]


def parquet(
    place: str, split: str, *, repair: bool = True, **fields: str
) -> list[Problem]:
    """A parquet table: the fields of `jsonl`, or the layout of verl and A-GRAE.

    There the question is the last user turn of `prompt` and the gold
    `reward_model.ground_truth`, a string or a struct. With `repair` a gold is the last
    box of its solution where the row has one: A-GRAE's published targets went through
    a normaliser that damaged about 1.5 % of those of MATH. `repair=False` reads the
    targets as published.
    """
    del split
    names = rows.Fields(**fields)
    problems, changed = [], 0
    for i, (where, row) in enumerate(_parquet_rows(place)):
        problem = rows.to_problem(row, i, where, names, from_solution=repair)
        if repair:
            published = rows.to_problem(row, i, where, names)
            changed += "".join(published.answer.split()) != "".join(
                problem.answer.split()
            )
        problems.append(problem)
    if changed:
        _log.warning(
            f"parquet:{place}: {changed} golds read from the solution's box instead of"
            " a target that is written otherwise (repair=False keeps the targets)"
        )
    return problems


def tfds(
    place: str,
    split: str,
    *,
    split_name: str = "",
    data_dir: str = "",
    **fields: str,
) -> list[Problem]:
    """A tensorflow-datasets name, or the folder of a prepared data set.

    `fields` are as for `jsonl`; `split_name` is the source's own name of
    the split ("" = train or test, by use). Read from array_record files: tensorflow is
    not needed.
    """
    names = rows.Fields(**fields)
    source = _tfds_source(place, split_name or split, data_dir)
    return [
        rows.to_problem(row, i, f"tfds:{place} row {i + 1}", names)
        for i, row in enumerate(source)
    ]


def write_tfds(splits: Mapping[str, list[Problem]], folder: str | Path) -> Path:
    """Writes problems as a tensorflow-datasets data set in array_record shards.

    Returns the folder that `tfds:FOLDER` reads. Tensorflow is not needed.
    """
    import tensorflow_datasets  # heavy, and only for this format

    core, features = tensorflow_datasets.core, tensorflow_datasets.features
    names = ("question", "answer", "level", "subject", "id")

    class Problems(  # pyright: ignore[reportGeneralTypeIssues]
        core.GeneratorBasedBuilder,
        skip_registration=True,  # pyright: ignore[reportCallIssue]
    ):
        """Problems with gold answers."""

        VERSION = core.Version("1.0.0")
        code_path = None  # no checksums lie beside this file

        def _info(self) -> Any:
            return core.DatasetInfo(
                builder=self,
                features=features.FeaturesDict(
                    {name: features.Text() for name in names}
                ),
                disable_shuffling=True,  # the order of the source is kept
            )

        def _split_generators(self, dl_manager: Any) -> Any:
            del dl_manager
            return {split: self._generate_examples(split) for split in splits}

        def _generate_examples(self, split: str) -> Any:
            for i, p in enumerate(splits[split]):
                row = (p.question, p.answer, p.level, p.subject or "")
                yield i, dict(zip(names, (*row, p.key or str(p.id)), strict=True))

    tensorflow_datasets.disable_progress_bar()
    try:
        builder = Problems(data_dir=str(folder), file_format="array_record")
        made = Path(builder.data_dir)
        if made.exists():  # it would be kept as it is, whatever the problems are now
            raise UserError(f"{made} is already there: remove it or write elsewhere")
        builder.download_and_prepare()
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror or error}") from None
    return made


def _parquet_rows(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow  # heavy, and only for this source
    import pyarrow.parquet

    rows.check_regular(path)
    number = 0
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=1024):
            for row in batch.to_pylist():
                number += 1
                yield f"{path} row {number}", row
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: not a readable parquet file: {error}") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 text: byte {error.start} of a string after row {number}"
        ) from None


def _tfds_source(place: str, split: str, data_dir: str) -> Any:
    import tensorflow_datasets  # heavy, and only for this source

    try:
        if Path(place).is_dir():
            builder: Any = tensorflow_datasets.builder_from_directory(place)
        else:
            builder = tensorflow_datasets.builder(
                place, data_dir=data_dir or None, file_format="array_record"
            )
        splits = list(builder.info.splits)
        if splits and split not in splits:
            raise UserError(
                f"tfds:{place} has no split {split!r}; set split_name to one of"
                f" {', '.join(splits)}"
            )
        return builder.as_data_source(split=split)
    except UserError:
        raise
    except Exception as error:  # its own kinds of many modules
        text = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(f"tfds:{place}: {text}") from None


_BUILT_IN: dict[str, Source] = {"arithmetic": arithmetic}
_SOURCES: dict[str, tuple[Source, str]] = {
    "jsonl": (jsonl, "PATH"),
    "parquet": (parquet, "PATH"),
    "tfds": (tfds, "NAME"),
}


def _resolve(name: str) -> tuple[Source, str]:
    """A name's reader, and the place it reads ("" for a built-in generator)."""
    source, colon, place = name.partition(":")
    if not colon and name in _BUILT_IN:
        return _BUILT_IN[name], ""
    if not colon and name in benchmarks.BENCHMARKS:
        return benchmark, name
    if source in _SOURCES and place:
        return _SOURCES[source][0], place
    known = [*_BUILT_IN, *(f"{key}:{what}" for key, (_, what) in _SOURCES.items())]
    known += benchmarks.BENCHMARKS
    raise UserError(f"unknown data set {name!r}; known: {', '.join(known)}")
