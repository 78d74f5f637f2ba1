"""What a compiled program costs.

XLA's own cost analysis counts the body of a loop once. Here every computation is
counted as often as it runs: a loop's trips are the constant in its condition, or, where
the program decides them as it runs, what the caller says.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

from agrae_jax.plan_hlo import Array, Op, Program, callees, constant

COLLECTIVES = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all")
COLLECTIVES += ("collective-permute",)
# Operations that move nothing through memory.
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while"}
_FREE |= {"conditional", "call", "after-all", "partition-id", "iota"}
# What the condition of a counted loop holds; any more, and the data decide.
_COUNTED = {"parameter", "get-tuple-element", "constant", "compare", "fusion", "copy"}
_COUNTED |= {"bitcast"}
# Products of queries and keys that an attention kernel does, by its name: forward, and
# the two of its backward pass.
_PRODUCTS = {"_fwd": 2, "_dkv": 4, "_dq": 3}


@dataclasses.dataclass
class Cost:
    """Of one device, for one run of the program."""

    flops: float = 0.0  # of matrix products
    bytes: float = 0.0  # to and from HBM
    collectives: dict[str, float] = dataclasses.field(default_factory=dict)  # bytes

    def add(self, other: Cost, times: float = 1.0) -> None:
        """Adds another cost, `times` over."""
        self.flops += times * other.flops
        self.bytes += times * other.bytes
        for kind, size in other.collectives.items():
            self.collectives[kind] = self.collectives.get(kind, 0.0) + times * size


def count(program: Program, dynamic_trips: float = 1.0) -> Cost:
    """The cost of one run; loops of unknown length take `dynamic_trips` trips."""
    return _Counter(program, dynamic_trips).computation(program.entry)


class _Counter:
    def __init__(self, program: Program, dynamic_trips: float):
        self._all, self._dynamic = program.computations, dynamic_trips
        self._known: dict[str, Cost] = {}

    def computation(self, name: str) -> Cost:
        if name not in self._known:
            cost, ops = Cost(), self._all[name]
            for op in ops.values():
                self._op(op, ops, cost)
            self._known[name] = cost
        return self._known[name]

    def _op(self, op: Op, ops: dict[str, Op], cost: Cost) -> None:
        called = dict(callees(op))
        if op.kind == "while":
            cost.add(self.computation(called["body"]), self._trips(op, ops))
            return
        if op.kind == "conditional":
            for name in called.get("branch_computations", "").strip("{}").split(","):
                if name.strip():
                    cost.add(self.computation(name.strip().lstrip("%")))
            return
        if op.kind == "call":
            cost.add(self.computation(called["to_apply"]))
            return
        if op.kind == "fusion":
            inside = self.computation(called["calls"])
            cost.flops += inside.flops
            cost.bytes += self._fusion_bytes(op, ops, called["calls"])
            return
        if op.kind in ("convolution", "dot"):
            cost.flops += _product_flops(op, ops)
        if op.kind == "custom-call":
            cost.add(_kernel(op))
        kind = op.kind.removesuffix("-start")
        if kind in COLLECTIVES:
            size = max(sum(x.bytes for x in op.result), _operand_bytes(op, ops, True))
            if op.kind.endswith("-start"):  # its result repeats the operands
                size -= _operand_bytes(op, ops, True)
            cost.collectives[kind] = cost.collectives.get(kind, 0.0) + size
        elif kind.startswith("async"):
            for name in (called.get("calls"),):
                if name:
                    cost.add(self.computation(name))
        if op.kind in _FREE or op.kind.endswith(("-done", "-update")):
            return
        if op.kind in ("dynamic-slice", "gather"):
            cost.bytes += 2 * _hbm(op.result)
        elif op.kind == "dynamic-update-slice":
            cost.bytes += 2 * _hbm(ops[op.operands[1]].result)
        else:
            cost.bytes += _hbm(op.result) + _operand_bytes(op, ops)

    def _fusion_bytes(self, op: Op, ops: dict[str, Op], name: str) -> float:
        """Operands read and results written; of what is sliced, the slices."""
        read = written = 0.0
        for index, operand in enumerate(op.operands):
            whole = _hbm(_result(operand, ops))
            if whole:
                taken, in_place = self._taken(name, index, whole)
                read += taken
                written -= in_place
        return read + max(written + _hbm(op.result), 0.0)

    def _taken(self, name: str, index: int, whole: float) -> tuple[float, float]:
        """(bytes read of a computation's operand, bytes of it updated in place)."""
        inside = self._all[name]
        sources = {
            x.name
            for x in inside.values()
            if x.kind == "parameter" and x.rest.startswith(f"{index})")
        }
        total = in_place = 0.0
        for op in inside.values():
            used = [i for i, x in enumerate(op.operands) if x in sources]
            if not used:
                continue
            if op.kind == "bitcast":
                sources.add(op.name)
            elif op.kind in ("dynamic-slice", "gather"):
                total += sum(x.bytes for x in op.result)
            elif op.kind == "dynamic-update-slice" and used == [0]:
                total += sum(x.bytes for x in _result(op.operands[1], inside))
                in_place += whole
            elif op.kind == "fusion":
                called = dict(callees(op))["calls"]
                for i in used:
                    more = self._taken(called, i, whole)
                    total, in_place = total + more[0], in_place + more[1]
            else:
                total += whole
        return min(total, whole), min(in_place, whole)

    def _trips(self, op: Op, ops: dict[str, Op]) -> float:
        """(limit - start) / step of a loop's counter; unrolled loops step by more."""
        called = dict(callees(op))
        condition, body = self._all[called["condition"]], self._all[called["body"]]
        limit = max(self._constants(called["condition"]), default=0)
        if not limit or not self._kinds(called["condition"]) <= _COUNTED:
            return self._dynamic
        gets = [x for x in condition.values() if x.kind == "get-tuple-element"]
        if len(gets) != 1:
            return limit
        found = re.search(r"index=(\d+)", gets[0].rest)
        index = int(found[1]) if found else 0
        after = body.get(list(body.values())[-1].operands[index])
        step, start = 1, 0
        if after is not None and after.kind == "add":
            step = max((constant(x, body) or 0 for x in after.operands), default=1)
        before = ops.get(op.operands[0])
        if before is not None and before.kind == "tuple":
            start = constant(before.operands[index], ops) or 0
        return math.ceil((limit - start) / max(step, 1))

    def _kinds(self, name: str) -> set[str]:
        found: set[str] = set()
        for op in self._all[name].values():
            found.add(op.kind)
            for _, called in callees(op):
                found |= self._kinds(called)
        return found

    def _constants(self, name: str) -> Iterator[int]:
        """The positive integers that a condition compares with."""
        for op in self._all[name].values():
            value = constant(op.name, self._all[name]) if op.kind == "constant" else 0
            if value and value > 0:
                yield value
            for _, called in callees(op):
                yield from self._constants(called)


def _kernel(op: Op) -> Cost:
    """What a kernel says of itself in the name of its scope, `kernel_PRODUCT_BLOCK`.

    For every tile of BLOCK queries and keys it reads two arrays of one side.
    """
    found = re.search(r"kernel_(\d+)_(\d+)", op.rest)
    phase = re.search("|".join(_PRODUCTS), op.rest)
    if not found or not phase:
        return Cost()
    product, block = float(found[1]), int(found[2])
    return Cost(flops=_PRODUCTS[phase[0]] * product, bytes=2 * product / block)


def _result(name: str, ops: dict[str, Op]) -> tuple[Array, ...]:
    return ops[name].result if name in ops else ()


def _hbm(arrays: tuple[Array, ...]) -> float:
    return float(sum(x.bytes for x in arrays if x.in_hbm))


def _operand_bytes(op: Op, ops: dict[str, Op], everything: bool = False) -> float:
    arrays = [x for name in op.operands for x in _result(name, ops)]
    return float(sum(x.bytes for x in arrays if everything or x.in_hbm))


def _product_flops(op: Op, ops: dict[str, Op]) -> float:
    """2 x multiplications of a dot, or of the convolution that a TPU makes of it."""
    left, right = (_result(name, ops)[0].sizes for name in op.operands[:2])
    if op.kind == "dot":
        found = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", op.rest)
        summed = [int(i) for i in found[1].split(",") if i] if found else []
        return (
            2.0 * op.result[0].bytes / _width(op) * math.prod(left[i] for i in summed)
        )
    labels = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", op.rest)
    assert labels is not None, op.rest
    out = op.result[0].sizes
    spatial = sorted(c for c in labels[1] if c.isdigit())
    window = dict(re.findall(r"(\w+)=([\dx_\-]+)", _window(op.rest)))
    flops = 2.0 * out[labels[3].index("b")] * out[labels[3].index("f")]
    flops *= right[labels[2].index("i")]
    for place, digit in enumerate(spatial):

        def part(name: str, default: str, place: int = place) -> str:
            return window[name].split("x")[place] if name in window else default

        low = int(part("pad", "0_0").split("_")[0])
        flops *= _valid(
            left[labels[1].index(digit)],
            right[labels[2].index(digit)],
            out[labels[3].index(digit)],
            stride=int(part("stride", "1")),
            low=low,
            dilate_left=int(part("lhs_dilate", "1")),
            dilate_right=int(part("rhs_dilate", "1")),
        )
    groups = re.search(r"batch_group_count=(\d+)", op.rest)
    return flops / (int(groups[1]) if groups else 1)


def _valid(
    left: int,
    right: int,
    out: int,
    *,
    stride: int,
    low: int,
    dilate_left: int,
    dilate_right: int,
) -> int:
    """Pairs (output, kernel) of one spatial axis that meet a real input."""
    if stride == dilate_left == dilate_right == 1 and low == 0 and left == out:
        return out * right
    count = 0
    for o in range(out):
        for k in range(right):
            place = o * stride - low + k * dilate_right
            if place % dilate_left == 0 and 0 <= place // dilate_left < left:
                count += 1
    return count


def _window(rest: str) -> str:
    found = re.search(r"window=\{([^}]*)\}", rest)
    return found[1] if found else ""


def _width(op: Op) -> int:
    return op.result[0].bytes // max(1, math.prod(op.result[0].sizes))
