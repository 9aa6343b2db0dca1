"""What loops carry and branches choose of small arrays becomes scalars, with new arrays inside and behind them that are
filled from these: copies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.types import MemRefType, Type
from adc.passes.rewrite import keep_carried, keep_while, replace_op
from adc.passes.small_arrays.webs import Shape, Web


def carry_scalars(web: Web) -> list[Value]:
    """Have memory of its own for each member of a web; returns the arrays that are new."""
    members = set(web.members)
    arrays: list[Value] = []
    for op in web.joined:
        block = op.parent
        assert block is not None
        at = block.ops.index(op)
        before, after = Block(), Block()
        made = _Copies(members, web.shape, before, after, arrays).of(op)
        block.set_ops([*block.ops[:at], *before.ops, *made, *after.ops, *block.ops[at + 1 :]])
    return arrays


def subscripts_of(shape: Shape) -> list[tuple[int, ...]]:
    """Those of all elements, in order."""
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
    """For one operation: ``before`` and ``after`` get what comes in front of it and behind it, ``arrays`` what is made."""

    def __init__(
        self, members: set[Value], shape: Shape, before: Block, after: Block, arrays: list[Value]
    ) -> None:
        self._members = members
        self._shape = shape
        self._before = before
        self._after = after
        self._arrays = arrays

    def of(self, op: Op) -> list[Op]:
        """What takes the place of ``op``."""
        if op.opdef is ops.select:
            self._select(op)
            return []
        if op.opdef is ops.for_:
            return [self._for(op)]
        return [self._while(op) if op.opdef is ops.while_ else self._if(op)]

    def _slots(self, values: Sequence[Value]) -> list[int]:
        return [k for k, v in enumerate(values) if v in self._members]

    def _select(self, op: Op) -> None:
        condition, *sides = op.operands
        with insert_at(self._before, op.loc):
            pairs = zip(*(read(side, self._shape) for side in sides), strict=True)
            values = [ops.select(condition, a, b) for a, b in pairs]
            copy = self._allocate(op.result, values)
        replace_op(op, [copy])

    def _for(self, op: Op) -> Op:
        (body,) = op.regions
        slots = self._slots(op.results)
        self._give(op, [op.operands[3 + k] for k in slots], self._before)
        self._take(body, [body.args[1 + k] for k in slots])
        self._give_at_end(body, [body.terminator.operands[k] for k in slots])
        kept = [k for k in range(len(op.results)) if k not in slots]
        count = len(op.results)
        new = self._results(op, slots)
        return keep_carried(op, [*kept, *range(count, count + new)])

    def _while(self, op: Op) -> Op:
        before, after = op.regions
        carried, passed = self._slots(before.args), self._slots(after.args)
        old_carried, old_passed = len(before.args), len(after.args)
        self._give(op, [op.operands[k] for k in carried], self._before)
        self._take(before, [before.args[k] for k in carried])
        self._take(after, [after.args[k] for k in passed])
        self._give_at_end(before, [before.terminator.operands[1 + k] for k in passed])
        self._give_at_end(after, [after.terminator.operands[k] for k in carried])
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
        for region in op.regions:
            self._give_at_end(region, [region.terminator.operands[k] for k in slots])
        kept = [k for k in range(len(op.results)) if k not in slots]
        count = len(op.results)
        new = self._results(op, slots)
        return keep_carried(op, [*kept, *range(count, count + new)])

    def _give(self, op: Op, memrefs: Sequence[Value], block: Block) -> None:
        """Append the elements of memrefs to the operands of ``op``, after loads in ``block``."""
        with insert_at(block, op.loc):
            for memref in memrefs:
                for value in read(memref, self._shape):
                    op.add_operand(value)

    def _give_at_end(self, block: Block, memrefs: Sequence[Value]) -> None:
        loads = Block()
        end = block.pop()
        self._give(end, memrefs, loads)
        block.set_ops([*block.ops, *loads.ops, end])

    def _take(self, block: Block, args: Sequence[Value]) -> None:
        """Begin ``block`` with arrays in place of these arguments."""
        start = Block()
        for arg in args:
            values = self._scalars(arg, block.add_arg)
            with insert_at(start):
                arg.replace_uses(self._allocate(arg, values))
        block.set_ops([*start.ops, *block.ops])

    def _results(self, op: Op, slots: Sequence[int]) -> int:
        """Have arrays behind ``op`` in place of its results at ``slots``; how many results are new."""
        before = len(op.results)
        for k in slots:
            result = op.results[k]
            values = self._scalars(result, op.add_result)
            with insert_at(self._after, op.loc):
                result.replace_uses(self._allocate(result, values))
        return len(op.results) - before

    def _allocate(self, like: Value, values: Sequence[Value]) -> Value:
        copy = allocate(like.type, self._shape, values, like.hint)
        self._arrays.append(copy)
        return copy

    def _scalars(self, like: Value, add: Callable[[Type, str], Value]) -> list[Value]:
        assert isinstance(like.type, MemRefType)
        return [add(like.type.element, like.hint) for _ in subscripts_of(self._shape)]
