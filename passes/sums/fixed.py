"""What is the same in all iterations of a loop, and can be recomputed after it."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping, clone_op
from adc.passes.analysis.dependence import Analysis


class Fixed:
    """The values that are the same in all iterations of ``loop``, given ``counters`` of loops in it."""

    def __init__(self, analysis: Analysis, loop: Op) -> None:
        self.counters: set[Value] = set()
        self._analysis = analysis
        self._loop = loop
        self._known: dict[Value, bool] = {}

    def holds(self, value: Value) -> bool:
        """Whether ``value`` is one of these, so that it can be recomputed after the loop."""
        if not inside(value, self._loop) or value in self.counters:
            return True
        known = self._known.get(value)
        if known is None:
            op = value.op
            known = op is not None and self._repeatable(op) and all(self.holds(v) for v in op.operands)
            self._known[value] = known
        return known

    def _repeatable(self, op: Op) -> bool:
        if op.opdef is ops.load:
            return self._analysis.leaves(self._loop, op.operands[0])
        return op.opdef.pure or (op.opdef is ops.bound and not op.attrs["check"])

    def counters_of(self, values: Sequence[Value]) -> set[Value]:
        """The counters from which the values are computed."""
        found: set[Value] = set()
        seen: set[Value] = set()
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if value in seen or not inside(value, self._loop):
                continue
            seen.add(value)
            if value in self.counters:
                found.add(value)
            elif value.op is not None:
                waiting += value.op.operands
        return found


def copy_fixed(value: Value, loop: Op, mapping: Mapping) -> Value:
    """Append the computation of ``value``, which is the same in all iterations of ``loop``."""
    if value in mapping or not inside(value, loop):
        return mapping.get(value, value)
    assert value.op is not None
    for operand in value.op.operands:
        mapping[operand] = copy_fixed(operand, loop, mapping)
    clone_op(value.op, mapping)
    return mapping[value]
