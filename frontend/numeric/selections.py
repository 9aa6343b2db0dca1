"""Selections by a mask of bools: expressions over all elements, only some of which are wanted.

As long as all operands of an expression are selected by one mask, nothing is counted or gathered: the whole expression
is evaluated under a condition, where the mask holds. Otherwise the positions at which it holds are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from adc.frontend.data.dims import Dim, dim_value, same_dim
from adc.frontend.data.values import AbstractValue, Array, Lazy
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric.convert import as_scalar, nonzero
from adc.frontend.numeric.nests import allocate, lazy_of, materialise, reduced
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, current_block, current_loc, insert_at
from adc.ir.core import Block, Loc, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i64, index


@dataclass(frozen=True, eq=False)
class Mask:
    """Bools with the extents of the dimensions that they select from. Their count and positions are computed once,
    where the mask was made."""

    frame: Frame
    lazy: Lazy
    block: Block
    loc: Loc

    @staticmethod
    def of(frame: Frame, value: Array | Lazy) -> Mask:
        lazy = lazy_of(value)
        if lazy.equalities:
            lazy = lazy_of(materialise(frame, lazy))
        return Mask(frame, lazy, current_block(), current_loc())

    @property
    def rank(self) -> int:
        return self.lazy.rank

    def holds(self, subscripts: Sequence[Value]) -> Value:
        """Whether the mask selects an element (i1)."""
        return nonzero(as_scalar(self.lazy.element(subscripts, False)))

    @cached_property
    def count(self) -> Value:
        """The number of elements that the mask selects."""
        with insert_at(self.block, self.loc):
            zero = const_index(0)
            body = lambda i: [ops.index_castui(self.holds(i), type=index)]  # noqa: E731
            return reduced(self.lazy.plain, ("add",), [zero], body)[0]

    @cached_property
    def positions(self) -> tuple[Array, ...]:
        """The subscripts of the selected elements, in order: an array for each dimension.

        Every subscript is stored at the end of those found so far, and stays there if its element is selected: so there
        is no branch in the loop, and there is room for one more.
        """
        with insert_at(self.block, self.loc):
            count = self.count
            room = [allocate(self.frame, [count + 1], i64, "positions") for _ in range(self.rank)]

            def visit(i: list[Value], found: Value) -> Value:
                for target, k in zip(room, i, strict=True):
                    build(ops.store, [ops.index_cast(k, type=i64), target.memref, found])
                return ops.addi(found, ops.index_castui(self.holds(i), type=index))

            _counting(list(self.lazy.plain), [], const_index(0), visit)
            return tuple(_first(target, count) for target in room)


def _counting(dims: list[Dim], outer: list[Value], start: Value, visit: Callable[[list[Value], Value], Value]) -> Value:
    """A number that is updated by ``visit`` for all subscripts, in order."""
    if not dims:
        return visit(outer, start)
    block = Block([index, index], [f"i{len(outer)}", "found"])
    with insert_at(block):
        build(ops.yield_, [_counting(dims[1:], [*outer, block.args[0]], block.args[1], visit)])
    bounds = [const_index(0), dim_value(dims[0]), const_index(1), start]
    return build(ops.for_, bounds, result_types=[index], regions=[block]).result


def _first(array: Array, count: Value) -> Array:
    operands = [array.memref, const_index(0), count, const_index(1)]
    view = build(ops.subview, operands, {"static_steps": (1,), "dropped": ()}).result
    return Array(view, (count,), array.roots)


class Selected(Lazy):
    """The part of the expression ``whole`` that ``mask`` selects, along as many dimensions as the mask has, after the
    first ``before``."""

    mask: Mask
    whole: Lazy
    before: int

    def __init__(self, mask: Mask, whole: Lazy, before: int) -> None:
        self.__dict__.update(mask=mask, whole=whole, before=before)
        reads = [replace(r, pointwise=False) for r in (*whole.reads, *mask.lazy.reads)]
        self.__dict__.update(dtype=whole.dtype, reads=tuple(reads), equalities=whole.equalities, view="")
        self.__dict__["element"] = self._element

    @property
    def rank(self) -> int:
        return self.whole.rank - self.mask.rank + 1

    @property
    def after(self) -> int:
        """The number of dimensions after the selected one."""
        return self.rank - self.before - 1

    @cached_property
    def dims(self) -> tuple[Dim, ...]:
        return self._counted(self.whole.dims)

    @cached_property
    def plain(self) -> tuple[Dim, ...]:
        return self._counted(self.whole.plain)

    def _counted(self, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return (*dims[: self.before], self.mask.count, *dims[self.before + self.mask.rank :])

    def _element(self, subscripts: Sequence[Value], general: bool) -> AbstractValue:
        at = subscripts[self.before]
        place = [ops.index_cast(ops.load(p.memref, at), type=index) for p in self.mask.positions]
        return self.whole.element([*subscripts[: self.before], *place, *subscripts[self.before + 1 :]], general)

    def of(self, whole: Lazy) -> Selected:
        """The same elements of another expression, which may have more leading dimensions."""
        return Selected(self.mask, whole, whole.rank - self.mask.rank - self.after)


def wholes(operands: Sequence[AbstractValue]) -> tuple[Selected, list[AbstractValue]] | None:
    """One selected operand, and all operands before selection, if none varies otherwise along what the mask selects.
    None if an operand has the shape after selection."""
    found = [v for v in operands if isinstance(v, Selected)]
    if not found:
        return None
    first, result = found[0], []
    for v in operands:
        whole = first_whole(first, v)
        if whole is None:
            return None
        result.append(whole)
    return first, result


def first_whole(like: Selected, v: AbstractValue) -> AbstractValue | None:
    """``v`` before selection, as an operand beside ``like``; None if it varies in another way."""
    if isinstance(v, Selected):
        same = v.after == like.after and alike(v.mask, like.mask)
        return v.whole if same else None
    if isinstance(v, Array | Lazy) and v.rank > like.after:
        return None
    return v


def alike(a: Mask, b: Mask) -> bool:
    """Whether two masks in one expression are known to hold for the same elements."""
    if a is b:
        return True
    if a.rank != b.rank or not all(map(same_dim, a.lazy.dims, b.lazy.dims)):
        return False
    scratch = Block()
    with insert_at(scratch):
        place = [ops.undef(type=index) for _ in range(a.rank)]
        same = _alike(a.holds(place), b.holds(place))
    discard(scratch)
    return same


def _alike(a: Value, b: Value) -> bool:
    """Whether two values are computed in the same way, from the same values and the same memory."""
    if a is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or x.opdef is not y.opdef or x.regions or x.opdef is ops.undef:
        return False
    if not (x.opdef.pure or x.opdef in (ops.load, ops.subview, ops.bound)):
        return False
    if a.index != b.index or a.type != b.type or x.attrs != y.attrs or len(x.operands) != len(y.operands):
        return False
    return all(_alike(p, q) for p, q in zip(x.operands, y.operands, strict=True))
