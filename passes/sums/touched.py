"""What the code of a loop or branch touches, except by adding: additions may be moved past everything else."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.types import RecordType
from adc.passes.analysis.dependence import Analysis


class Touched:
    """The answers for each operation with regions, as long as the code does not change."""

    def __init__(self, analysis: Analysis) -> None:
        self._aliasing = analysis.aliasing
        self._known: dict[Op, set[Value | None]] = {}

    def inside(self, outer: Op) -> set[Value | None]:
        """The roots of what is read or written inside ``outer``, except by accumulations; None stands for anything."""
        known = self._known.get(outer)
        if known is None:
            known = self._known[outer] = set()
            for region in outer.regions:
                for op in region.ops:
                    known |= self.inside(op) if op.regions else self._roots(op)
        return known

    def leaves(self, outer: Op, memref: Value) -> bool:
        """Whether only accumulations inside ``outer`` can touch the memory of ``memref``."""
        touched = self.inside(outer)
        return None not in touched and self._aliasing.roots(memref).isdisjoint(touched)

    def _roots(self, op: Op) -> set[Value | None]:
        if op.opdef.pure or op.opdef is ops.accumulate:
            return set()
        if op.opdef is ops.call and any(isinstance(v.type, RecordType) for v in op.operands):
            return {None}
        return {root for v in op.operands for root in self._aliasing.roots(v)}
