"""The tape: buffers for the values that the storage plan keeps, indexed by iteration.

A value computed inside loops gets a buffer with one extent per loop, as long as the loops run, allocated before the
outermost loop whose extents are known there; so values of rectangular nests are contiguous in the innermost loop, and
nests whose inner bounds depend on outer counters get a buffer per outer iteration, which is itself a value to be kept
(a memref of memrefs). If all that is not known outside is where a loop begins or ends within a few iterations, as in
``range(1 + (i + colour) % 2, n, 2)``, the nest counts as rectangular, and its rows are as long as the longest can be,
if most of that is used (`Rectangles`). A while loop's buffer grows. A value inside a branch, but in no loop, becomes a
result of the branch. So does a number inside a branch of a parallel loop; what the branch returns is kept whether it
was taken or not. As nothing is stored or loaded in branches, both sweeps can be SIMD, and need no masks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const, iteration_number
from adc.ir.builder import build
from adc.ir.core import Block, Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import TAPE
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.cold import is_cold
from adc.passes.differentiation.storage.insertion import Insertions
from adc.passes.differentiation.storage.rectangles import Rectangles, loops_above

MOST_ALWAYS = 16
"""The most values of one region that are kept whether it runs or not."""


@dataclass(frozen=True)
class Slot:
    """Where a stored value is found: in ``buffer``, subscripted by the iteration numbers of ``loops``; or, if there
    are none, ``buffer`` is a value of an outer block that equals it."""

    buffer: Value
    loops: tuple[Op, ...]


class Tape:
    """Adds the stores of the tape to a function, by insertions; ``slots`` says how to read it."""

    def __init__(self, func: Func, insertions: Insertions, counters: dict[Op, Value], *, direct: bool) -> None:
        self.func = func
        self.insertions = insertions
        self.counters = counters
        self.direct = direct
        self.slots: dict[Value, Slot] = {}
        self.residuals: list[Value] = []  # values of the function's own block that a separate reverse function needs
        self._numbers: dict[Op, Value] = {}
        self._extents: dict[tuple[Op, Op], Value] = {}
        self._rectangles = Rectangles()
        self._together: Counter[Block | None] = Counter()
        self._sides: dict[Value, set[Block]] = {}  # results of branches that go to the record: which sides give them
        self._further: dict[Value, Value] = {}  # to the same value as a result of the branch around it

    def keep_all(self, values: Sequence[Value]) -> None:
        """Store all that the plan keeps."""
        self._together = Counter(value.block for value in values)
        for value in values:
            self.keep(value)

    def keep(self, value: Value, anchor: Op | None = None) -> None:
        """Store ``value``. ``anchor``: the operation right before which it was built, if it is not in place yet."""
        if value in self.slots:
            return
        block = _home(value, anchor)
        loops = loops_above(block)
        if not loops:
            self._keep_in_branches(value, block, anchor)
        elif loops[-1].opdef is ops.while_:
            self._keep_in_while(value, loops[-1], anchor)
        elif anchor is None and self._is_kept_always(value, block, loops[-1]):
            outer = self._handed_out(value, block, loops[-1].regions[0])
            self.slots[value] = Slot(outer, ())
            self._keep_in_buffer(outer, loops, None)
        else:
            self._keep_in_buffer(value, loops, anchor)

    # Values outside all loops ----------------------------------------------------------------------

    def _keep_in_branches(self, value: Value, block: Block, anchor: Op | None) -> None:
        """Hand a value on from the branches around it to the function's own block."""
        outer = self._handed_out(value, block, self.func.body)
        if outer is not value:
            self.slots[value] = Slot(outer, ())
        if not self.direct:
            self.residuals.append(outer)

    def _handed_out(self, value: Value, block: Block, home: Block) -> Value:
        """The same value as a result of the branches between ``block`` and ``home``. It is undefined if they are not
        taken, or zero in a loop, where it is stored then as well. What two sides hand to a record is one result."""
        outer = value
        recorded = home is self.func.body and not self.direct and _is_free_to_share(value)
        while block is not home:
            branch = block.parent_op
            assert branch is not None and branch.opdef is ops.if_
            shared = self._result_of_another_side(branch, block, outer) if recorded else None
            if shared is not None:
                return shared
            for region in branch.regions:
                if region is block:
                    region.terminator.add_operand(outer)
                else:
                    with self.insertions.before(region.terminator):
                        other = ops.undef(type=outer.type) if home is self.func.body else const(0.0, outer.type)
                    region.terminator.add_operand(other)
            inner, outer = outer, branch.add_result(outer.type, outer.hint)
            if recorded:
                self._sides[outer] = {block}
                self._further[inner] = outer
            assert branch.parent is not None
            block = branch.parent
        return outer

    def _result_of_another_side(self, branch: Op, side: Block, value: Value) -> Value | None:
        """If other sides of ``branch`` gave a result that ``side`` left undefined, let that be ``value`` in ``side``:
        only one side runs, so the reverse sweep finds there what its own side kept. Returns where it is in the
        function's block."""
        for result in branch.results:
            if result.type == value.type and side not in self._sides.get(result, (side,)):
                side.terminator.set_operand(result.index, value)
                self._sides[result].add(side)
                self._further[value] = result
                while result in self._further:
                    result = self._further[result]
                return result
        return None

    def _is_kept_always(self, value: Value, block: Block, loop: Op) -> bool:
        """Whether ``value``, computed in ``block``, is kept in all iterations of ``loop``, the innermost around it."""
        if loop.opdef is not ops.parallel or block is loop.regions[0] or is_cold(block):
            return False
        return self._together[block] <= MOST_ALWAYS and not isinstance(value.type, MemRefType | RecordType)

    # Counted loops ---------------------------------------------------------------------------------

    def _keep_in_buffer(self, value: Value, loops: list[Op], anchor: Op | None) -> None:
        group = self._rectangles.around(loops)
        first = group[0]
        t = MemRefType((None,) * len(group), value.type)
        with self.insertions.before(first):
            buffer = ops.alloc(*(self._extent(loop, first) for loop in group), type=t)
            assert buffer.op is not None
            buffer.op.set_attr(TAPE, True)
            buffer.hint = f"tape_{value.hint}" if value.hint else "tape"
        subscripts = [self._number(loop) for loop in group]
        self._store(value, buffer, subscripts, anchor)
        self.slots[value] = Slot(buffer, tuple(group))
        self._keep_outer(buffer, first)

    def _extent(self, loop: Op, before: Op) -> Value:
        if (loop, before) not in self._extents:
            self._extents[loop, before] = self._rectangles.trips(loop, before)
        return self._extents[loop, before]

    def _number(self, loop: Op) -> Value:
        """The number of the current iteration of a loop, as a value at the start of its body."""
        if loop not in self._numbers:
            body = loop.regions[0]
            with self.insertions.at_start(body, loop.loc):
                self._numbers[loop] = iteration_number(body.args[0], loop.operands[0], loop.operands[2])
        return self._numbers[loop]

    # While loops -----------------------------------------------------------------------------------

    def _keep_in_while(self, value: Value, loop: Op, anchor: Op | None) -> None:
        before, after = loop.regions
        t = MemRefType((None,), value.type)
        with self.insertions.before(loop):
            loop.add_operand(ops.undef(type=t))
        before.terminator.add_operand(before.add_arg(t))
        passed = after.add_arg(t)
        number = after.args[self.counters[loop].index]
        with self.insertions.at_start(after, loop.loc):
            buffer = ops.grow(passed, number)
            assert buffer.op is not None
            buffer.op.set_attr(TAPE, True)
        after.terminator.add_operand(buffer)
        self._store(value, buffer, [number], anchor)
        full = loop.add_result(t, f"tape_{value.hint}" if value.hint else "tape")
        self.slots[value] = Slot(full, (loop,))
        self._keep_outer(full, None)

    # All loops -------------------------------------------------------------------------------------

    def _store(self, value: Value, buffer: Value, subscripts: list[Value], anchor: Op | None) -> None:
        if anchor is not None:
            with self.insertions.before(anchor):
                build(ops.store, [value, buffer, *subscripts])
        elif value.op is None:
            block = value.block
            assert block is not None and block.parent_op is not None
            with self.insertions.at_start(block, block.parent_op.loc):
                build(ops.store, [value, buffer, *subscripts])
        else:
            with self.insertions.after(value.op):
                build(ops.store, [value, buffer, *subscripts])

    def _keep_outer(self, buffer: Value, anchor: Op | None) -> None:
        """Keep the buffer itself, unless it lies in the function's own block."""
        block = _home(buffer, anchor)
        if block is not self.func.body:
            self.keep(buffer, anchor)
        elif not self.direct:
            self.residuals.append(buffer)


def _home(value: Value, anchor: Op | None) -> Block:
    block = anchor.parent if anchor is not None else value.block
    assert block is not None
    return block


def _is_free_to_share(value: Value) -> bool:
    """Whether a value may share a result with what another side keeps. Memory other than the tape's own may not: when
    such a buffer is freed, it could not be told which of the two it is."""
    if not isinstance(value.type, MemRefType):
        return True
    return value.op is not None and value.op.opdef is ops.alloc and TAPE in value.op.attrs
