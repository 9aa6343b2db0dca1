"""The storage plan as data, which prints: what is kept for the reverse sweep."""

from __future__ import annotations

from dataclasses import dataclass, field

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.costs import executions, trips
from adc.passes.differentiation.snapshots import Snapshot
from adc.passes.differentiation.tape import loops_above


@dataclass
class StoragePlan:
    """What is stored, in program order, and what is wanted in the reverse sweep at all."""

    stored: list[Value] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)  # whose memory is among what is stored
    wanted: set[Value] = field(default_factory=set)
    refused: dict[Op, str] = field(default_factory=dict)  # loads that may not be repeated, and why

    def __str__(self) -> str:
        slots = [v for v in self.stored if (v.block is not None and executions(v.block) > 1) or in_loop(v)]
        if not slots and not self.snapshots:
            return "tape: nothing is stored (0 bytes)"
        lines = ["tape:", *(f"  {snapshot}" for snapshot in self.snapshots)]
        alike: dict[tuple[object, ...], list[Value]] = {}
        for value in slots:
            loops = tuple(id(loop) for loop in _loops(value))  # loops of one line may be parts of one loop
            alike.setdefault((describe(value), loops), []).append(value)
        lines += [f"  {describe(values[0], len(values))}" for values in alike.values()]
        return "\n".join(lines)


def describe(value: Value, count: int = 1) -> str:
    """One line on a stored value, or several alike: what it is, where it is computed, how many bytes it takes."""
    loops = _loops(value)
    where = f"line {_line(value)}"
    type, size = f"{count} x {value.type}" if count > 1 else str(value.type), count * scalar_bytes(value.type)
    extents = " x ".join(_extent(loop) for loop in loops)
    name = value.hint or (value.op.opdef.name if value.op is not None else "loop-carried value")
    note = " (and the memory it refers to)" if isinstance(value.type, MemRefType) else ""
    if value.block is not None and is_cold(value.block):
        note += " (where subscripts are checked one by one)"
    return f"{where}: {name}: {type}, {size} bytes{' x ' + extents if extents else ''}{note}"


def tape_bytes(plan: StoragePlan) -> int | None:
    """Bytes of the tape if every trip count is known, else None; 0 if nothing is stored."""
    total = 0
    if plan.snapshots:
        return None
    for value in plan.stored:
        count = 1
        for loop in _loops(value):
            if any(constant_of(v) is None for v in loop.operands[:3]) or loop.opdef is ops.while_:
                return None
            count *= int(trips(loop))
        total += count * scalar_bytes(value.type) if _loops(value) else 0
    return total


def _line(value: Value) -> int:
    owner = value.op if value.op is not None else (value.block.parent_op if value.block is not None else None)
    return owner.loc.line if owner is not None else 0


def _loops(value: Value) -> list[Op]:
    """The loops around a value, outermost first."""
    return loops_above(value.block) if value.block is not None else []


def in_loop(value: Value) -> bool:
    return bool(_loops(value))


def _extent(loop: Op) -> str:
    count = constant_of(loop.operands[1]) if loop.opdef is not ops.while_ else None
    if count is not None and constant_of(loop.operands[0]) is not None:
        return str(int(trips(loop)))
    return f"trips of the loop at line {loop.loc.line}"
