"""Which values are certainly read, so that what they are used for matters, whatever the data are.

The cotangent of such a value is not zero because nothing has read the value. A value is read if an operation of its own
block uses it and the result of that operation is read, or if both sides of a branch read it. What a loop carries is
read if the next iteration reads it, and so does the code after the loop. What is stored is read if the element is
certainly loaded and read before something else is stored there (``rereading.py``). A value may go unread if it is used
only in loops, which may not run, or on one side of a branch, or if the caller gives its cotangent. Greatest fixed
point.
"""

from __future__ import annotations

from collections.abc import Iterable

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import place_in
from adc.passes.differentiation.need.need import contributes
from adc.passes.differentiation.need.rereading import Rereading
from adc.passes.differentiation.need.strong_zeros import leaves_out
from adc.passes.differentiation.rules import RULES


class Reading:
    """The values of a function that are certainly read. ``results``: those that the caller certainly reads."""

    def __init__(self, func: Func, aliasing: Aliasing, results: Iterable[Value]) -> None:
        self._results = set(results)
        self._rereading = Rereading(aliasing)
        self._unread: set[Value] = set()
        changed = True
        while changed:
            changed = self._visit(func.body)

    def __contains__(self, value: Value) -> bool:
        return value not in self._unread

    def _visit(self, block: Block) -> bool:
        changed = False
        for op in reversed(block.ops):
            for region in op.regions:
                changed |= self._visit(region)
            for result in op.results:
                changed |= self._settle(result, block)
        for arg in block.args:
            changed |= self._settle(arg, block)
        return changed

    def _settle(self, value: Value, block: Block) -> bool:
        if not value.type.is_float or value in self._unread or value in self._results:
            return False
        if self._is_read_in(block, value):
            return False
        self._unread.add(value)
        return True

    def _is_read_in(self, block: Block, value: Value) -> bool:
        """Whether a value is read whenever a block runs: by one of the block's operations, or in each region of a
        branch."""
        if any(user.parent is block and self._reads(user, k) for user, k in value.uses):
            return True
        around = ((user, place_in(block, user)) for user, _ in value.uses if user.parent is not block)
        branches = {op: None for user, op in around if op is not None and op.opdef is ops.if_}
        return any(all(self._is_read_in(region, value) for region in op.regions) for op in branches)

    def _reads(self, op: Op, k: int) -> bool:
        """Whether an operation certainly reads its operand ``k``."""
        kind = op.opdef
        if kind in RULES:
            return op.result in self and k not in leaves_out(op) and contributes(op, k)
        if kind in (ops.yield_, ops.reduce, ops.condition):
            assert op.parent is not None and op.parent.parent_op is not None
            return self._hands_on(op.parent.parent_op, op.parent, k)
        if kind is ops.store:
            return k == 0 and all(any(v in self for v in loads) for loads in self._rereading.loads(op))
        if kind is ops.for_ and k >= 3:
            return op.results[k - 3] in self and op.regions[0].args[k - 2] in self
        if kind is ops.parallel and k >= 3:
            return op.results[k - 3] in self
        return kind is ops.while_ and op.regions[0].args[k] in self

    def _hands_on(self, op: Op, region: Block, k: int) -> bool:
        """Whether the value that a region passes on as operand ``k`` of its terminator is read."""
        if op.opdef is ops.for_:
            return op.results[k] in self and region.args[1 + k] in self
        if op.opdef is ops.while_:
            before, after = op.regions
            if region is after:
                return before.args[k] in self
            return k > 0 and op.results[k - 1] in self and after.args[k - 1] in self
        return op.results[k] in self
