"""Subscripts that are arrays of integers or bools: the elements that they select, and how these are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from adc.frontend.arrays import arrays
from adc.frontend.arrays.nested import array_of
from adc.frontend.arrays.subscripts import expand, view
from adc.frontend.containers import sequences
from adc.frontend.data.compounds import slice_object
from adc.frontend.data.dims import BOUNDS_ERROR, Dim, dim_value, equal_dims, same_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Range, Scalar, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST, TUPLE
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric import nests
from adc.frontend.numeric.convert import INT64, as_scalar, convert, kind, unboxed
from adc.frontend.numeric.selections import Mask, Selected
from adc.frontend.numeric.slices import Item, Slice, is_none
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import at_loc, current_loc, insert_at
from adc.ir.core import Block, Loc, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i1, i64, index

_NO_COMMON_SHAPE = BOUNDS_ERROR, "shape mismatch: indexing arrays could not be broadcast together with shapes"
_CHEAP = frozenset(
    {ops.load, ops.constant, ops.undef, ops.index_cast, ops.index_castui, ops.select, ops.cmpi}
    | {ops.addi, ops.subi, ops.muli, ops.minsi, ops.maxsi, ops.andi, ops.ori, ops.xori}
)  # operations that are recomputed for each use of an index, not kept in memory


@dataclass(frozen=True, eq=False)
class Indexed:
    """The elements that index arrays select. ``base`` has the dimensions of the array except those indexed by integers;
    ``source`` says for each of them which dimension of the result, or which array, gives its subscripts. The dimensions
    of the index arrays, broadcast to ``together``, begin at dimension ``first`` of the result."""

    base: Array
    source: tuple[int | Lazy, ...]
    dims: tuple[Dim, ...]
    plain: tuple[Dim, ...]
    together: tuple[Dim, ...]
    first: int
    equalities: tuple[Value, ...]

    def at(self, subscripts: Sequence[Value], general: bool) -> list[Value]:
        """The subscripts into ``base`` of an element of the result."""
        inner = subscripts[self.first : self.first + len(self.together)]

        def along(by: int | Lazy, dim: Dim) -> Value:
            if isinstance(by, int):
                return subscripts[by]
            own = arrays.operand_subscripts(by.dims, self.together, inner, general)
            k = convert(as_scalar(by.element(own, general)), i64)
            known = constant_of(k)
            if known is not None:
                return k if known >= 0 else ops.addi(k, dim_value(dim))
            negative = ops.cmpi(k, const_index(0), predicate="slt")
            return ops.select(negative, ops.addi(k, dim_value(dim)), k)

        return [along(by, dim) for by, dim in zip(self.source, self.base.dims, strict=True)]

    @property
    def array(self) -> Array:
        return self.base

    def read(self) -> Lazy:
        base = nests.lazy_of(self.base)
        indices = [by for by in self.source if isinstance(by, Lazy)]
        reads = [replace(r, pointwise=False) for r in (*base.reads, *(r for k in indices for r in k.reads))]

        def element(subscripts: Sequence[Value], general: bool) -> AbstractValue:
            return base.element(self.at(subscripts, general), general)

        return Lazy(self.dims, self.plain, base.dtype, element, tuple(reads), self.equalities)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Masked:
    """The elements of ``base`` that one mask selects, along the dimensions after the first ``before``."""

    base: Array
    mask: Mask
    before: int

    @property
    def array(self) -> Array:
        return self.base

    def read(self) -> Selected:
        return Selected(self.mask, nests.lazy_of(self.base), self.before)

    @cached_property
    def indexed(self) -> Indexed:
        """The same elements, by their positions."""
        rank = self.mask.rank
        by: list[int | Lazy] = [*range(self.before), *map(nests.lazy_of, self.mask.positions)]
        by += range(self.before + 1, self.base.rank - rank + 1)
        dims = self.base.dims
        result = (*dims[: self.before], self.mask.count, *dims[self.before + rank :])
        return Indexed(self.base, tuple(by), result, result, (self.mask.count,), self.before, ())


def is_index_array(v: AbstractValue | Slice) -> bool:
    return isinstance(v, Array | Lazy) and v.rank > 0


def by_arrays(items: Sequence[Item]) -> bool:
    """Whether there are arrays among subscripts."""
    return any(is_index_array(item.value) for item in items)


def selects_from(owner: Array | Lazy, mask: Array | Lazy) -> bool:
    """Whether a mask alone selects from the first dimensions of an array; if so, its shape is checked."""
    if not _is_mask(mask) or mask.rank > owner.rank:
        return False
    _check_mask(mask, owner.dims[: mask.rank], 0)
    return True


def items_of(frame: Frame, v: AbstractValue, loc: Loc, *, alone: bool) -> list[Item]:
    """A value between the brackets of an array. ``alone``: then a tuple is one subscript for each of its items; beside
    other subscripts it is an index array, as lists always are."""
    v = _unpacked(sequences.snapshot(frame, v))
    if isinstance(v, Array | Lazy) and kind(v.dtype) == 1:
        v = unboxed(v)
    if isinstance(v, Tuple) and alone and v.form.kind != "list":
        return [one for item in v.items for one in items_of(frame, item, loc, alone=False)]
    if (part := slice_object(v)) is not None:
        return [Item(loc, Slice(*part.items))]
    if isinstance(v, Tuple):
        v = array_of(frame, v, None) if v.items else nests.allocate(frame, [0], i64)
    return [Item(loc, _counted(v) if isinstance(v, Range) else v)]


def _counted(r: Range) -> Lazy:
    """The items of a ``range``, as an index array."""
    start, stop, step = (convert(as_scalar(v), i64) for v in (r.start, r.stop, r.step))
    count = ops.maxsi(ops.ceildivsi(ops.subi(stop, start), step), const_index(0))

    def element(i: Sequence[Value], general: bool) -> Scalar:
        return Scalar(ops.addi(start, ops.muli(i[0], step)), i64, weak=False)

    return Lazy((count,), (count,), i64, element, ())


def _unpacked(v: AbstractValue) -> AbstractValue:
    """A known tuple or list as a ``Tuple`` of values."""
    if isinstance(v, Static) and isinstance(v.value, tuple | list):
        return Tuple(tuple(map(Static, v.value)), TUPLE if isinstance(v.value, tuple) else LIST)
    return v


def locate(frame: Frame, owner: Array, items: Sequence[Item]) -> Indexed | Masked:
    """The elements that ``owner[items]`` names, with all subscripts checked."""
    items = [_prepared(item) for item in items]
    items = _expanded(owner.rank, items)
    found = [item.value for item in items if is_index_array(item.value)]
    if len(found) == 1 and _is_mask(found[0]) and not any(is_newaxis(item) for item in items):
        place = _masked(frame, owner, items)
        if place is not None:
            return place
    return _indexed(frame, owner, items)


def _expanded(rank: int, items: list[Item]) -> list[Item]:
    """``items`` with all slices written out. An ellipsis stays in front of its slices: it separates arrays even if it
    stands for no dimension."""
    made = expand(rank, items, _consumed)
    at = next((k for k, item in enumerate(items) if _is_ellipsis(item)), None)
    return made if at is None else [*made[:at], items[at], *made[at:]]


def is_newaxis(item: Item) -> bool:
    return not isinstance(item.value, Slice) and is_none(item.value)


def _is_ellipsis(item: Item) -> bool:
    return isinstance(item.value, Static) and item.value.value is ...


def _is_mask(v: AbstractValue | Slice) -> bool:
    return isinstance(v, Array | Lazy) and v.rank > 0 and v.dtype == i1


def _consumed(item: Item) -> int:
    """How many dimensions of the array a subscript consumes."""
    if is_newaxis(item) or _is_ellipsis(item):
        return 0
    return item.value.rank if isinstance(item.value, Array | Lazy) and _is_mask(item.value) else 1


def _prepared(item: Item) -> Item:
    """``item``, with an index array of rank zero as a number."""
    v = item.value
    if not isinstance(v, Array | Lazy):
        return item
    with at_loc(item.loc):
        if kind(v.dtype) >= 2:
            raise refuse(
                item.loc,
                f"arrays used as indices must be of integer (or boolean) type, not {describe_type(v)}",
                "convert it with .astype(int)",
                kind=kinds.INVALID_SUBSCRIPT,
            )
        return item if v.rank else Item(item.loc, nests.lazy_of(v).element([], True))


def _basic(owner: Array, items: Sequence[Item]) -> Array:
    """The view by the subscripts that are not arrays, with whole dimensions in place of arrays."""
    basic: list[Item] = []
    for item in items:
        if is_index_array(item.value):
            basic += [Item(item.loc, Slice())] * _consumed(item)
        elif not is_newaxis(item) and not _is_ellipsis(item):
            basic.append(item)
    return view(owner, basic)


def _masked(frame: Frame, owner: Array, items: Sequence[Item]) -> Masked | None:
    """The place for a single mask, if the selected elements go where the mask is; else None."""
    k = next(k for k, item in enumerate(items) if is_index_array(item.value))
    numbers = [n for n, item in enumerate(items) if _is_number(item)]
    if numbers and not _adjacent([*numbers, k], items):
        return None
    base = _basic(owner, items)
    before = sum(isinstance(item.value, Slice) for item in items[:k])
    mask = items[k].value
    assert isinstance(mask, Array | Lazy)
    with at_loc(items[k].loc):
        first = sum(map(_consumed, items[:k]))
        _check_mask(mask, base.dims[before : before + mask.rank], first)
        return Masked(base, Mask.of(frame, mask), before)


def _check_mask(mask: Array | Lazy, dims: Sequence[Dim], first: int) -> None:
    for axis, (own, dim) in enumerate(zip(mask.dims, dims, strict=True), first):
        if same_dim(own, dim):
            continue
        message = (
            f"boolean index did not match indexed array along axis {axis}; size of axis is {{}} "
            "but size of corresponding boolean axis is {}"
        )
        trap_unless(equal_dims(dim, own), BOUNDS_ERROR, message, dim_value(dim), dim_value(own))


def _is_number(item: Item) -> bool:
    return not isinstance(item.value, Slice) and not (
        is_newaxis(item) or _is_ellipsis(item) or is_index_array(item.value)
    )


def _adjacent(positions: Sequence[int], items: Sequence[Item]) -> bool:
    """Whether no slice, new axis or ellipsis stands between arrays and numbers."""
    return not any(
        isinstance(items[k].value, Slice) or is_newaxis(items[k]) or _is_ellipsis(items[k])
        for k in range(min(positions), max(positions))
    )


def _indexed(frame: Frame, owner: Array, items: Sequence[Item]) -> Indexed:
    base = _basic(owner, items)
    advanced = [k for k, item in enumerate(items) if is_index_array(item.value) or _is_number(item)]
    adjacent = _adjacent(advanced, items)
    source: list[int | Lazy] = []
    lists: list[_List] = []
    axis = before = 0  # of the array; number of result dimensions before those of the index arrays
    dims: list[Dim] = []  # of the result, without those
    for k, item in enumerate(items):
        if adjacent and k == advanced[0]:
            before = len(dims)
        if is_newaxis(item):
            dims.append(1)
        elif isinstance(item.value, Slice):
            dims.append(base.dims[len(source)])
            source.append(len(dims) - 1)
        elif isinstance(item.value, Array | Lazy):
            with at_loc(item.loc):
                made = _lists(frame, item.value, base.dims[len(source) :], axis)
            lists += made
            source += [one.lazy for one in made]
        axis += _consumed(item)
    together, plain, equalities = _broadcast(lists)
    shifted = (by + len(together) if isinstance(by, int) and by >= before else by for by in source)
    front, back = dims[:before], dims[before:]
    general = (*front, *together, *back)
    return Indexed(base, tuple(shifted), general, (*front, *plain, *back), together, before, equalities)


def as_subscripts(frame: Frame, v: Array | Lazy) -> Lazy:
    """The index array for a one-dimensional array, which may be a mask."""
    return _lists(frame, v, v.dims, 0)[0].lazy


def spread(v: Lazy, k: int, rank: int) -> Lazy:
    """A vector as dimension ``k`` of ``rank``, to be broadcast along the others."""
    dims = tuple(v.dims[0] if n == k else 1 for n in range(rank))
    plain = tuple(v.plain[0] if n == k else 1 for n in range(rank))
    reads = tuple(replace(r, pointwise=False) for r in v.reads)
    return Lazy(dims, plain, v.dtype, lambda i, general: v.element([i[k]], general), reads, v.equalities)


def along(frame: Frame, owner: Array, indices: Array | Lazy, axis: int) -> Indexed:
    """The elements that ``indices`` names along an axis, for each position in the other axes: those of
    ``np.take_along_axis``."""
    lists = []
    for k, dim in enumerate(owner.dims):
        if k != axis:
            counter = Lazy((dim,), (dim,), i64, lambda i, general: Scalar(i[0], i64, weak=False), ())
            lists.append(_List(spread(counter, k, owner.rank), dim, k, current_loc(), sure=True))
        else:
            lists.append(_List(_kept(frame, indices), dim, k, current_loc()))
    together, plain, equalities = _broadcast(lists)
    return Indexed(owner, tuple(one.lazy for one in lists), together, plain, together, 0, equalities)


def _broadcast(lists: Sequence[_List]) -> tuple[tuple[Dim, ...], tuple[Dim, ...], tuple[Value, ...]]:
    """The extents of index arrays broadcast together, in general and if nothing is stretched, and the conditions for
    that. Then all indices are checked to be in range."""
    extents, equalities = arrays.broadcast([one.lazy for one in lists], _NO_COMMON_SHAPE)
    for one in lists:
        one.check()
    return tuple(e.general for e in extents), tuple(e.plain for e in extents), tuple(equalities)


@dataclass(frozen=True, eq=False)
class _List:
    """Subscripts into a dimension, their source location, and whether they are in range by construction."""

    lazy: Lazy
    dim: Dim
    axis: int
    loc: Loc
    sure: bool = False

    def check(self) -> None:
        """Check that all are in range: IndexError before anything is read or written."""
        if self.sure:
            return
        n = dim_value(self.dim)

        def value(i: list[Value]) -> list[Value]:
            return [convert(as_scalar(self.lazy.element(i, True)), i64)] * 2

        start = [const_index(int(INT64.max)), const_index(int(INT64.min))]
        with at_loc(self.loc):
            low, high = nests.reduced(self.lazy.dims, ("min", "max"), start, value)
            low_fits = ops.cmpi(low, ops.subi(const_index(0), n), predicate="sge")
            fits = ops.andi(low_fits, ops.cmpi(high, n, predicate="slt"))
            message = f"index {{}} is out of bounds for axis {self.axis} with size {{}}"
            trap_unless(fits, BOUNDS_ERROR, message, ops.select(low_fits, high, low), n)


def _lists(frame: Frame, v: Array | Lazy, dims: Sequence[Dim], axis: int) -> list[_List]:
    """The index arrays that an array stands for: itself, or, for a mask, the positions where it holds."""
    loc = current_loc()
    if not _is_mask(v):
        return [_List(_kept(frame, v), dims[0], axis, loc)]
    _check_mask(v, dims[: v.rank], axis)
    positions = Mask.of(frame, v).positions
    return [_List(nests.lazy_of(p), dims[k], axis + k, loc, sure=True) for k, p in enumerate(positions)]


def _kept(frame: Frame, v: Array | Lazy) -> Lazy:
    """An index array in memory, if computing its elements again would take longer."""
    lazy = nests.lazy_of(v)
    return lazy if _is_cheap(lazy) else nests.lazy_of(nests.materialise(frame, lazy))


def _is_cheap(v: Lazy) -> bool:
    """Whether elements are better computed twice, for the check and for the use, than kept in memory."""
    scratch = Block()
    with insert_at(scratch):
        v.element([ops.undef(type=index) for _ in v.dims], False)
        cheap = all(op.opdef in _CHEAP for op in scratch.ops)
    discard(scratch)
    return cheap and not v.equalities
