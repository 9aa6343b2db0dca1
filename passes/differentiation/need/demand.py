"""What the reverse sweep asks for: for each operation with an adjoint, the primal values that its adjoint uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.attached import parts
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.types import MemRefType
from adc.passes.differentiation.activity.activity import Activity, Interface
from adc.passes.differentiation.call_plan import CallPlan
from adc.passes.differentiation.need.need import needs
from adc.passes.differentiation.rules import RULES
from adc.passes.differentiation.user_rules import needed_residuals, rules_of


@dataclass
class Augmented:
    """A function that is being differentiated, and what is known about it.

    ``companion`` maps a memref that is not a view to the memref that shadows it, if that is a value of the forward
    sweep. Allocations that stay in their block get their shadow in the reverse sweep instead, and those in ``given``
    get it from the caller. The companions of ``made`` are allocated for them, as zeros. ``counters``: trip counts of
    while loops. ``shadowed_loads``: loads of shadows from arrays of arrays, with the loads of what they shadow.
    ``cells``: memory in which the cotangents of a record's floats are summed, by the operations that pack and unpack
    the record. ``direct``: the reverse sweep follows in the same function, so that values of the function's own block
    can be used as they are.
    """

    module: Module
    func: Func
    activity: Activity
    interface: Interface
    direct: bool
    companion: dict[Value, Value] = field(default_factory=dict)
    made: set[Value] = field(default_factory=set)
    given: set[Value] = field(default_factory=set)
    counters: dict[Op, Value] = field(default_factory=dict)
    shadowed_loads: dict[Op, Op] = field(default_factory=dict)
    cells: dict[Op, dict[Value, Value]] = field(default_factory=dict)
    calls: dict[Op, CallPlan] = field(default_factory=dict)
    records: dict[Op, Value] = field(default_factory=dict)
    original_callee: dict[Op, str] = field(default_factory=dict)
    adjoint_regions: set[Op] = field(default_factory=set)

    def find_adjoint_regions(self) -> None:
        """Note the operations with regions whose reversal is not empty."""

        def visit(block_ops: Sequence[Op]) -> bool:
            found = False
            for op in block_ops:
                if op.regions:
                    inside = [visit(region.ops) for region in op.regions]
                    if any(inside) or any(self.activity.active(r) for r in op.results):
                        self.adjoint_regions.add(op)
                        found = True
                elif self.has_adjoint(op):
                    found = True
            return found

        visit(self.func.body.ops)

    def has_adjoint(self, op: Op) -> bool:
        """Whether the reverse sweep does anything for ``op``."""
        kind = op.opdef
        if kind in RULES:
            return self.activity.active(op.result) and bool(self.active_operands(op))
        if kind is ops.load:
            return self.activity.active(op.result)
        if kind in (ops.store, ops.accumulate, ops.copy, ops.fill):
            return self.activity.has_shadow(op.operands[1])
        if kind is ops.pack or kind is ops.unpack:
            return any(map(self.activity.active, op.operands if kind is ops.pack else op.results))
        if kind is ops.call:
            return op in self.calls
        if kind is ops.ruled:
            return any(map(self.activity.active, op.results)) and bool(self.ruled_cotangents(op))
        return op in self.adjoint_regions

    def active_operands(self, op: Op) -> list[int]:
        return [k for k, v in enumerate(op.operands) if self.activity.active(v)]

    def ruled_cotangents(self, op: Op) -> list[int]:
        """Which cotangents that the pullback of ``adc.ruled`` returns are wanted."""
        rules, arguments = rules_of(self.module, op), parts(op, self.module).arguments
        assert rules is not None
        return [n for n, k in enumerate(rules.cotangents) if self.activity.active(arguments[k])]

    def demands(self, op: Op) -> list[Value]:
        """Primal values that the adjoint of ``op`` itself (not of what is inside it) uses."""
        kind = op.opdef
        if kind is ops.alloc:
            if not self.activity.has_shadow(op.result):
                return []
            if op.result in self.companion:
                return [] if self.direct else [self.companion[op.result]]
            return [] if op.result in self.given else list(op.operands)
        if not self.has_adjoint(op):
            return self._cleared(op)
        if kind in RULES:
            need = needs(op, self.active_operands(op))
            return [op.operands[k] for k in need.operands] + ([op.result] if need.result else [])
        if kind is ops.load:
            return [*self.shadow_demands(op.operands[0]), *op.operands[1:]]
        if kind in (ops.store, ops.accumulate):
            return [*self.shadow_demands(op.operands[1]), *op.operands[2:]]
        if kind in (ops.copy, ops.fill):
            return [v for m in op.operands if isinstance(m.type, MemRefType) for v in self.shadow_demands(m)]
        if kind is ops.pack or kind is ops.unpack:
            return [cell for v, cell in self.cells[op].items() if self.activity.active(v)]
        if kind is ops.call:
            return self._call_demands(op)
        if kind is ops.ruled:
            residuals = parts(op, self.module).residuals
            return [residuals[k] for k in needed_residuals(self.module, op, self.ruled_cotangents(op))]
        if kind is ops.while_:
            return [self.counters[op]]
        return list(op.operands[: 1 if kind is ops.if_ else 3])

    def _call_demands(self, op: Op) -> list[Value]:
        plan = self.calls[op]
        wanted = [op.operands[k] for k in plan.kept]
        for v in (*(op.operands[k] for k in plan.shadows), *(op.results[k] for k in plan.given)):
            wanted += self.shadow_demands(v)
        if op in self.records:
            wanted.append(self.records[op])
        return wanted + self._cleared(op)

    def _cleared(self, op: Op) -> list[Value]:
        """The shadows made for what a call returns. The reverse sweep sets them back to zero, as they may have another
        name when it runs again."""
        if self.direct or op.opdef is not ops.call:
            return []
        return [self.companion[v] for v in op.results if v in self.made]

    def shadow_demands(self, memref: Value) -> list[Value]:
        """The values needed to lay out the shadow of ``memref`` in the reverse sweep."""
        if not self.activity.has_companion(memref):
            return []
        wanted: list[Value] = []
        base = strip_views(memref)
        while memref is not base:
            view = memref.op
            assert view is not None
            wanted += view.operands[1:]
            memref = view.operands[0]
        if base in self.companion:
            wanted.append(self.companion[base])
        return wanted

    def all_demands(self) -> list[Value]:
        return [v for op in self.func.walk() for v in self.demands(op)]


Recipe = tuple[list[Value], float]  # what a value is computed from, and at what cost
