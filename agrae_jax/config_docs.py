"""The fields of `configs/base.py` with their comments, for `--help` and the docs.

python -m agrae_jax.config_docs > docs/configs.md
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

BASE = Path(__file__).resolve().parents[1] / "configs" / "base.py"


# Sections whose fields are the keywords of what another field names.
OWNERS = {
    "method.kwargs": "method.name",
    "verify.kwargs": "verify.verifier",
    "data.train_kwargs": "data.train",
    "data.test_kwargs": "data.test",
    "model.kwargs": "model.path",
}


class Field(NamedTuple):
    """A field's dotted path, its default as written and its comment."""

    path: str
    default: str
    comment: str


def fields(source: str) -> list[Field]:
    """Every `c.a.b = value` of a config file's source, in order, with its comment.

    A comment is what stands behind the value or alone on the lines after it.
    """
    comments = _comments(source)
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            path = ast.unparse(node.targets[0]).partition(".")[2]
            line = node.end_lineno or node.lineno
            words = [comments[line][1]] if line in comments else []
            while line + 1 in comments and comments[line + 1][0]:  # alone on its line
                line += 1
                words.append(comments[line][1])
            default = _default(ast.unparse(node.value))
            found.append((node.lineno, Field(path, default, " ".join(words))))
    return [field for _, field in sorted(found)]


def markdown(source: str) -> str:
    """`docs/configs.md`: one table a section."""
    lines = [
        "# Every field of a config",
        "",
        "Made from `configs/base.py` by `python -m agrae_jax.config_docs`; change it"
        " there.",
        "A run's config is `base.py` plus differences. On the command line a field is"
        " `--config.section.field=value`.",
    ]
    section: str | None = None
    for path, default, comment in fields(source):
        head, dot, _ = path.partition(".")
        title = head if dot or default == "section" else "run"
        if title != section:
            section = title
            lines += ["", f"## {title}", ""]
            lines += ["| field | default | meaning |", "|---|---|---|"]
        if dot or default != "section":
            shown = f"`{default}`" if default != "section" else "free keywords"
            meaning = comment.replace("|", "\\|")
            lines.append(f"| `{path}` | {shown} | {meaning} |")
    return "\n".join(lines) + "\n"


def help_text(
    extra: Mapping[str, Any],
    config: Mapping[str, Any],
    label: str,
    *,
    from_run: bool = False,
) -> str:
    """What the program does, its own flags and one line a field, with its value here.

    `from_run` is for programs that read a run: they take its config.
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    program = f"python -m {spec.name}" if spec else Path(sys.argv[0]).name
    about = (main.__doc__ or "").strip().split("\n")[0]
    given = "--workdir=RUN" if from_run else "--config=FILE [--workdir=DIR]"
    config_help = "a file of configs/"
    workdir_help = "the run directory; default runs/<config>-<time>"
    if from_run:
        config_help += "; default the config that the run was started with"
        workdir_help = "the directory of the run to read"
    lines = [
        *([about, ""] if about else []),
        f"usage: {program} {given} [--config.FIELD=VALUE ..]",
        "",
        f"  --config   {config_help}",
        f"  --workdir  {workdir_help}",
        *(f"  --{name}  {f.help}{_shown(f.default)}" for name, f in extra.items()),
        "",
        f"fields, with their values in {label}:",
    ]
    rows: list[tuple[str, str, str]] = []
    for field in fields(BASE.read_text()):
        value: Any = config
        for name in field.path.split("."):
            value = value[name]
        if not isinstance(value, Mapping):
            rows.append((field.path, repr(value), field.comment))
        elif field.path.endswith("kwargs"):
            owner = OWNERS[field.path]
            section, last = owner.split(".")
            note = f"of {owner} {config[section][last]}"
            rows += [(f"{field.path}.{k}", repr(v), note) for k, v in value.items()]
    wide = max(len(path) for path, _, _ in rows)
    lines += [
        f"  --config.{path:<{wide}}  {value}  {comment}".rstrip()
        for path, value, comment in rows
    ]
    return "\n".join(lines)


def _shown(default: Any) -> str:
    return "" if default in ("", None, -1) else f" (default {default})"


def _default(written: str) -> str:
    if written.endswith("ConfigDict()"):
        return "section"
    return "None" if "placeholder(" in written else written


def _comments(source: str) -> dict[int, tuple[bool, str]]:
    """Line number -> (stands alone on its line, text without the mark)."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            found[token.start[0]] = (alone, token.string.lstrip("# "))
    return found


if __name__ == "__main__":
    print(markdown(BASE.read_text()), end="")
