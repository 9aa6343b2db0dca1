"""Small arrays all of whose subscripts are numbers: their elements become separate values.

A walk in order tracks the value of each element. Loops carry what is written in them, and branches choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.moments import strip_views
from adc.ir.types import MemRefType, Type
from adc.passes.analysis.kinds import VIEWS
from adc.passes.rewrite import replace_op
from adc.passes.small_arrays.carrying import allocate, read, subscripts_of
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.sharing import writes
from adc.passes.small_arrays.views import Shape, with_views

Elements = dict[Value, tuple[Value, ...]]
"""The current elements of each array."""


def promote(func: Func, shapes: Mapping[Value, Shape], known: Mapping[Value, Shape]) -> None:
    """Replace the arrays ``shapes``, allocations of ``func``, by scalars. Uses other than of elements are returns.
    ``known``: shapes of other memrefs, from which subscripts may follow."""
    _Promotion(shapes, known).block(func.body, {})


class _Promotion:
    def __init__(self, shapes: Mapping[Value, Shape], known: Mapping[Value, Shape]) -> None:
        self._shapes = shapes
        self._numbers = Numbers({**known, **shapes})
        self._written: dict[Op, dict[Value, None]] = {}
        for memref in shapes:
            for op, position in with_views(list(memref.uses)):
                if writes(op, position):
                    self._note(memref, op)

    def _note(self, memref: Value, write: Op) -> None:
        """Note that operations around the write, inside the block of the array, have to hand on what was written."""
        block = write.parent
        while block is not memref.block:
            around = block.parent_op if block is not None else None
            assert around is not None
            self._written.setdefault(around, {})[memref] = None
            block = around.parent

    def block(self, block: Block, now: Elements) -> None:
        """Rebuild ``block``; ``now`` is changed to what holds at its end."""
        new = block.in_place_of()
        for op in block.ops:
            with insert_at(new, op.loc):
                if not self._element_use(op, now):
                    self._inside(op, now)
                    new.append(op)
        block.set_ops(new.ops)

    # Elements ---------------------------------------------------------------------------------------------------------

    def _element_use(self, op: Op, now: Elements) -> bool:
        """If ``op`` only uses elements of the arrays, replace that."""
        kind = op.opdef
        if kind is ops.alloc and op.result in self._shapes:
            t = op.result.type
            assert isinstance(t, MemRefType)
            now[op.result] = (const(0, t.element),) * len(subscripts_of(self._shapes[op.result]))
            op.drop()
        elif kind in VIEWS and self._is_of(op, 0):
            op.drop()  # lookups go through it to the array
        elif kind is ops.load and self._is_of(op, 0):
            (place,) = self._places(op, 0)
            replace_op(op, [now[strip_views(op.operands[0])][place]])
        elif kind is ops.dim and self._is_of(op, 0):
            shape = self._numbers.shape(op.operands[0])
            assert shape is not None
            replace_op(op, [const_index(shape[op.attrs["dim"]])])
        elif kind in (ops.store, ops.accumulate) and self._is_of(op, 1):
            self._store(op, now)
        elif kind is ops.fill and self._is_of(op, 1):
            places = self._places(op, 1)
            self._put(op.operands[1], places, [op.operands[0]] * len(places), now)
            op.drop()
        elif kind is ops.copy and (self._is_of(op, 0) or self._is_of(op, 1)):
            self._copy(op, now)
        else:
            if kind is ops.return_:
                self._return(op, now)
            return False
        return True

    def _is_of(self, op: Op, position: int) -> bool:
        """Whether an operand is one of the arrays, or a view of one."""
        return strip_views(op.operands[position]) in self._shapes

    def _places(self, op: Op, position: int) -> list[int]:
        """The numbers of the elements that are meant."""
        places = self._numbers.elements(op, position)
        assert None not in places
        return [place for place in places if place is not None]

    def _put(self, memref: Value, places: Sequence[int], values: Sequence[Value], now: Elements) -> None:
        base = strip_views(memref)
        elements = list(now[base])
        for place, value in zip(places, values, strict=True):
            elements[place] = value
        now[base] = tuple(elements)

    def _store(self, op: Op, now: Elements) -> None:
        value, memref = op.operands[:2]
        (place,) = self._places(op, 1)
        if op.opdef is ops.accumulate:
            before = now[strip_views(memref)][place]
            with contractible():
                value = (ops.addf if value.type.is_float else ops.addi)(before, value)
        self._put(memref, [place], [value], now)
        op.drop()

    def _copy(self, op: Op, now: Elements) -> None:
        source, target = op.operands
        shape = self._numbers.shape(source if self._is_of(op, 0) else target)
        assert shape is not None
        if self._is_of(op, 0):
            elements = now[strip_views(source)]
            values = [elements[place] for place in self._places(op, 0)]
        else:
            values = read(source, shape)
        if self._is_of(op, 1):
            self._put(target, self._places(op, 1), values, now)
        else:
            for at, value in zip(subscripts_of(shape), values, strict=True):
                build(ops.store, [value, target, *map(const_index, at)])
        op.drop()

    def _return(self, op: Op, now: Elements) -> None:
        for position, memref in enumerate(op.operands):
            if memref in self._shapes:
                op.set_operand(position, allocate(memref.type, self._shapes[memref], now[memref], memref.hint))

    # Loops and branches -----------------------------------------------------------------------------------------------

    def _inside(self, op: Op, now: Elements) -> None:
        """Rebuild the regions of ``op``, which carries or chooses what is written in them, and update ``now``."""
        if not op.regions:
            return
        written = list(self._written.get(op, ()))
        kind = op.opdef
        if kind is ops.for_ or kind is ops.while_:
            _add(op, written, now)
        if kind is ops.while_:
            before, after = op.regions
            self._region(before, written, now, carries=True)
            self._region(after, written, now, carries=True)
        else:
            for region in op.regions:
                self._region(region, written, now, carries=kind is ops.for_)
        now.update({memref: _new(op.add_result, memref, now) for memref in written})

    def _region(self, region: Block, written: Sequence[Value], now: Elements, *, carries: bool) -> None:
        inside = dict(now)
        if carries:
            inside.update({memref: _new(region.add_arg, memref, now) for memref in written})
        self.block(region, inside)
        _add(region.terminator, written, inside)


def _add(op: Op, memrefs: Iterable[Value], now: Elements) -> None:
    for memref in memrefs:
        for value in now[memref]:
            op.add_operand(value)


def _new(add: Callable[[Type, str], Value], memref: Value, now: Elements) -> tuple[Value, ...]:
    return tuple(add(value.type, memref.hint) for value in now[memref])
