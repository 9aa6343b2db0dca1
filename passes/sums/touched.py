"""What the code of a loop or branch touches, except by adding: additions may be moved past everything else."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.nesting import enclosing
from adc.ir.types import RecordType
from adc.passes.analysis.affine import Form
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.form_conditions import TRUE
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.ranges import Ranges
from adc.passes.analysis.running import running


class Touched:
    """The answers for each operation with regions, as long as the code does not change."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
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

    def misses(self, outer: Op, base: Value, subscripts: Sequence[Form]) -> bool:
        """Whether nothing in the loop ``outer`` but accumulations touches this element, which is the same in all of its
        iterations, as ranges of subscripts tell."""
        if outer.opdef not in COUNTED or None in self.inside(outer):
            return False
        accesses, roots = self._analysis.accesses(outer), self._aliasing.roots(base)
        if any(not op.opdef.pure and not roots.isdisjoint(self._roots(op)) for op, _ in accesses.obstacles):
            return False
        for access in accesses.found:
            if access.kind == "accumulate" or not self._aliasing.may_overlap(access.base, base):
                continue
            if access.base is not base or access.where is None:
                return False
            loops = [op for op in enclosing(access.op.parent) if op.opdef in COUNTED]
            facts = [*self._analysis.facts, *running(self._analysis.forms, loops)]
            ranges = Ranges(self._analysis.forms, facts=facts)
            if not any(
                ranges.nonnegative(apart) == TRUE
                for at, (low, high) in zip(subscripts, access.where, strict=True)
                for apart in (low - at - 1, at - high - 1)
            ):
                return False
        return True

    def _roots(self, op: Op) -> set[Value | None]:
        if op.opdef.pure or op.opdef is ops.accumulate:
            return set()
        if op.opdef is ops.call and any(isinstance(v.type, RecordType) for v in op.operands):
            return {None}
        return {root for v in op.operands for root in self._aliasing.roots(v)}
