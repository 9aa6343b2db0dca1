"""The storage plan as data, which can be printed: what is kept for the reverse sweep."""

from __future__ import annotations

from dataclasses import field

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import scalar_bytes
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.costs import executions, trips
from adc.passes.differentiation.storage.kept import Kept, trips_of
from adc.passes.differentiation.storage.rectangles import loops_above
from adc.passes.differentiation.storage.snapshots import Snapshot


@dataclass
class StoragePlan:
    """What is stored, in program order, and everything that the reverse sweep needs."""

    stored: list[Value] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)  # their memory is among ``stored``
    wanted: set[Value] = field(default_factory=set)
    refused: dict[Op, str] = field(default_factory=dict)  # loads that may not be repeated, and why

    def __str__(self) -> str:
        kept = self.kept()
        return "\n".join(["tape:", *(f"  {one}" for one in kept)] if kept else ["tape: nothing is stored (0 bytes)"])

    def kept(self) -> list[Kept]:
        """What the forward sweep keeps: copies of arrays first, then values in program order, like ones as one
        entry."""
        alike: dict[tuple[object, ...], list[Value]] = {}
        for value in self.stored:
            if (value.block is not None and executions(value.block) > 1) or in_loop(value):
                loops = tuple(id(loop) for loop in _loops(value))  # loops of one line may be parts of one loop
                alike.setdefault((kept_of(value), loops), []).append(value)
        return [*(snapshot.kept() for snapshot in self.snapshots), *(kept_of(v[0], len(v)) for v in alike.values())]


def kept_of(value: Value, count: int = 1) -> Kept:
    """The report's entry for a stored value, or for several alike."""
    return Kept(
        _line(value),
        value.hint,
        value.op.opdef.name if value.op is not None else "loop-carried value",
        value.type,
        tuple(_extent(loop) for loop in _loops(value)),
        count,
        checked=value.block is not None and is_cold(value.block),
    )


def tape_bytes(plan: StoragePlan) -> int | None:
    """The size of the tape in bytes if every trip count is known, else None; 0 if nothing is stored."""
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


def _extent(loop: Op) -> int | str:
    count = constant_of(loop.operands[1]) if loop.opdef is not ops.while_ else None
    return trips_of(loop) if count is None or constant_of(loop.operands[0]) is None else int(trips(loop))
