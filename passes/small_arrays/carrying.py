"""Small arrays that loops carry and branches choose become scalars, with new arrays inside and after them that are
filled from these: copies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.types import MemRefType, Type
from adc.passes.rewrite import keep_carried, keep_while, replace_op
from adc.passes.small_arrays.views import Shape
from adc.passes.small_arrays.webs import JOINS


def carry_scalars(func: Func, shapes: Mapping[Value, Shape]) -> dict[Value, Shape]:
    """Give each of these memrefs, which are whole webs, memory of its own. Returns the new arrays."""
    arrays: dict[Value, Shape] = {}
    for op in [op for op in func.walk() if _joins(op, shapes)]:
        block = op.parent
        assert block is not None
        at = block.ops.index(op)
        copies = _Copies(shapes)
        made = copies.of(op)
        block.set_ops([*block.ops[:at], *copies.before.ops, *made, *copies.after.ops, *block.ops[at + 1 :]])
        arrays.update(copies.arrays)
    return arrays


def _joins(op: Op, shapes: Mapping[Value, Shape]) -> bool:
    if op.opdef not in JOINS:
        return False
    return any(v in shapes for v in op.results) or any(v in shapes for region in op.regions for v in region.args)


def subscripts_of(shape: Shape) -> list[tuple[int, ...]]:
    """The subscripts of all elements, in order."""
    return list(itertools.product(*map(range, shape)))


def read(memref: Value, shape: Shape) -> list[Value]:
    """Append loads of all elements, in order."""
    if memref.op is not None and memref.op.opdef is ops.undef:
        assert isinstance(memref.type, MemRefType)
        return [const(0, memref.type.element) for _ in subscripts_of(shape)]
    return [ops.load(memref, *map(const_index, at)) for at in subscripts_of(shape)]


def allocate(t: Type, shape: Shape, values: Sequence[Value], hint: str = "") -> Value:
    """Append a new array with these elements."""
    assert isinstance(t, MemRefType)
    extents = [const_index(e) for e, known in zip(shape, t.shape, strict=True) if known is None]
    memref = ops.alloc(*extents, type=t)
    memref.hint = hint
    for at, value in zip(subscripts_of(shape), values, strict=True):
        build(ops.store, [value, memref, *map(const_index, at)])
    return memref


class _Copies:
    """For one operation: ``before`` and ``after`` hold what comes before and after it; ``arrays`` are the copies."""

    def __init__(self, shapes: Mapping[Value, Shape]) -> None:
        self._shapes = shapes
        self.before, self.after = Block(), Block()
        self.arrays: dict[Value, Shape] = {}

    def of(self, op: Op) -> list[Op]:
        """The operations that replace ``op``."""
        if op.opdef is ops.select:
            self._select(op)
            return []
        if op.opdef is ops.for_:
            return [self._for(op)]
        return [self._while(op) if op.opdef is ops.while_ else self._if(op)]

    def _slots(self, values: Sequence[Value]) -> list[int]:
        return [k for k, v in enumerate(values) if v in self._shapes]

    def _select(self, op: Op) -> None:
        condition, *sides = op.operands
        with insert_at(self.before, op.loc):
            pairs = zip(*(read(side, self._shapes[op.result]) for side in sides), strict=True)
            values = [ops.select(condition, a, b) for a, b in pairs]
            copy = self._allocate(op.result, values)
        replace_op(op, [copy])

    def _for(self, op: Op) -> Op:
        (body,) = op.regions
        slots = self._slots(op.results)
        shapes = [self._shapes[op.results[k]] for k in slots]
        self._give(op, [op.operands[3 + k] for k in slots], shapes, self.before)
        self._take(body, [body.args[1 + k] for k in slots])
        self._give_at_end(body, [body.terminator.operands[k] for k in slots], shapes)
        kept = [k for k in range(len(op.results)) if k not in slots]
        count = len(op.results)
        new = self._results(op, slots)
        return keep_carried(op, [*kept, *range(count, count + new)])

    def _while(self, op: Op) -> Op:
        before, after = op.regions
        carried, passed = self._slots(before.args), self._slots(after.args)
        old_carried, old_passed = len(before.args), len(after.args)
        shapes = [self._shapes[before.args[k]] for k in carried]
        shapes_passed = [self._shapes[after.args[k]] for k in passed]
        self._give(op, [op.operands[k] for k in carried], shapes, self.before)
        self._take(before, [before.args[k] for k in carried])
        self._take(after, [after.args[k] for k in passed])
        self._give_at_end(before, [before.terminator.operands[1 + k] for k in passed], shapes_passed)
        self._give_at_end(after, [after.terminator.operands[k] for k in carried], shapes)
        self._results(op, passed)
        keep = [
            [k for k in range(total) if k not in slots or k >= old]
            for total, slots, old in (
                (len(before.args), carried, old_carried),
                (len(after.args), passed, old_passed),
            )
        ]
        return keep_while(op, *keep)

    def _if(self, op: Op) -> Op:
        slots = self._slots(op.results)
        shapes = [self._shapes[op.results[k]] for k in slots]
        for region in op.regions:
            self._give_at_end(region, [region.terminator.operands[k] for k in slots], shapes)
        kept = [k for k in range(len(op.results)) if k not in slots]
        count = len(op.results)
        new = self._results(op, slots)
        return keep_carried(op, [*kept, *range(count, count + new)])

    def _give(self, op: Op, memrefs: Sequence[Value], shapes: Sequence[Shape], block: Block) -> None:
        """Append the elements of memrefs to the operands of ``op``, after loads in ``block``."""
        with insert_at(block, op.loc):
            for memref, shape in zip(memrefs, shapes, strict=True):
                for value in read(memref, shape):
                    op.add_operand(value)

    def _give_at_end(self, block: Block, memrefs: Sequence[Value], shapes: Sequence[Shape]) -> None:
        loads = Block()
        end = block.pop()
        self._give(end, memrefs, shapes, loads)
        block.set_ops([*block.ops, *loads.ops, end])

    def _take(self, block: Block, args: Sequence[Value]) -> None:
        """Let ``block`` begin with arrays in place of these arguments."""
        start = Block()
        for arg in args:
            values = self._scalars(arg, block.add_arg)
            with insert_at(start):
                arg.replace_uses(self._allocate(arg, values))
        block.set_ops([*start.ops, *block.ops])

    def _results(self, op: Op, slots: Sequence[int]) -> int:
        """Put arrays after ``op`` in place of its results at ``slots``. Returns the number of new results."""
        before = len(op.results)
        for k in slots:
            result = op.results[k]
            values = self._scalars(result, op.add_result)
            with insert_at(self.after, op.loc):
                result.replace_uses(self._allocate(result, values))
        return len(op.results) - before

    def _allocate(self, like: Value, values: Sequence[Value]) -> Value:
        copy = allocate(like.type, self._shapes[like], values, like.hint)
        self.arrays[copy] = self._shapes[like]
        return copy

    def _scalars(self, like: Value, add: Callable[[Type, str], Value]) -> list[Value]:
        assert isinstance(like.type, MemRefType)
        return [add(like.type.element, like.hint) for _ in subscripts_of(self._shapes[like])]
