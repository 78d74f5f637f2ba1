"""The text of a compiled program, read into instructions."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2}
_BYTES |= {"f32": 4, "s32": 4, "u32": 4, "f64": 8, "s64": 8, "u64": 8}
_SHAPE = re.compile(r"([a-z]+\d*)\[([\d,]*)\](?:\{([^}]*)\})?")
_CALLED = re.compile(
    r"(calls|to_apply|body|condition|branch_computations)=(\{[^}]*\}|[^,\s]+)"
)


@dataclasses.dataclass(frozen=True)
class Array:
    """One array of a shape: its bytes, sizes and whether it lies in HBM."""

    sizes: tuple[int, ...]
    bytes: int
    in_hbm: bool


@dataclasses.dataclass(frozen=True)
class Op:
    """One instruction."""

    name: str
    kind: str
    result: tuple[Array, ...]
    operands: tuple[str, ...]
    rest: str  # attributes, and for a constant its value


class Program:
    """A compiled program's computations: by name, the instructions by name."""

    def __init__(self, text: str):
        self.computations: dict[str, dict[str, Op]] = {}
        self.entry = ""
        current: dict[str, Op] = {}
        for line in text.splitlines():
            head = re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line)
            if head and not line.startswith(" "):
                current = self.computations[head[2]] = {}
                self.entry = head[2] if head[1] else self.entry
            elif " = " in line:
                op = _parse(line)
                current[op.name] = op


def constant(name: str, ops: dict[str, Op]) -> int | None:
    """The integer that a name stands for, through copies; None if it is computed."""
    op = ops.get(name)
    while op is not None and op.kind in ("copy", "bitcast"):
        op = ops.get(op.operands[0])
    if op is None or op.kind != "constant" or not re.match(r"-?\d+\)", op.rest):
        return None
    return int(op.rest.split(")")[0])


def _parse(line: str) -> Op:
    name, _, rest = line.strip().removeprefix("ROOT ").partition(" = ")
    if rest.startswith("("):
        end = _closing(rest, 0) + 1
    else:
        end = rest.index(" ")
    shape, rest = rest[:end], rest[end:].strip()
    kind, _, rest = rest.partition("(")
    close = _closing("(" + rest, 0) - 1
    inside = rest[:close]
    constant = kind in ("constant", "parameter")
    operands = re.findall(r"%([\w.\-]+)", "" if constant else inside)
    return Op(
        name=name.lstrip("%"),
        kind=kind,
        result=tuple(map(_array, _SHAPE.finditer(shape))),
        operands=tuple(operands),
        rest=inside + ")" + rest[close + 1 :],
    )


def _closing(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return len(text)


def _array(match: re.Match[str]) -> Array:
    sizes = tuple(int(n) for n in match[2].split(",") if n)
    size = math.prod(sizes) * _BYTES.get(match[1], 4)
    return Array(sizes, size, "S(" not in (match[3] or ""))


def callees(op: Op) -> Iterator[tuple[str, str]]:
    """The computations that an instruction runs: (attribute, name)."""
    for key, value in _CALLED.findall(op.rest.split("metadata=")[0]):
        if key == "branch_computations":
            yield key, value
        else:
            yield key, value.lstrip("%")
