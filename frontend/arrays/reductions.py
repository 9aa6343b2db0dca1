"""Reductions over arrays: nested ``scf.parallel`` loops with an order of summation that is adc's own and does not
depend on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend.abstract import value_type
from adc.frontend.arrays import complex_reductions
from adc.frontend.data.dims import Dim, dim_value, static_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Number, Range, Scalar, Static, Tuple, needed_int
from adc.frontend.elements import to_element
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import unsigned
from adc.frontend.numeric.choosing import chosen
from adc.frontend.numeric.convert import (
    INT64,
    accumulator,
    as_scalar,
    cast,
    convert,
    kind,
    load_scalar,
    nonzero,
    store_scalar,
    wrap,
)
from adc.frontend.numeric.nests import allocate, lazy_of, materialise, nest, serial, versioned
from adc.frontend.numeric.selections import Selected
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import IntType, Type, i1, i64, index, ui64


@dataclass(frozen=True)
class Reduction:
    """``kind`` as named by ``scf.reduce``. ``empty`` is NumPy's error for an array without elements, if there is
    one."""

    name: str
    kind: str
    empty: str = ""

    def accumulator(self, dtype: Type) -> Type:
        """The dtype of the result: sums of small integers are int64, or uint64."""
        if self.kind in ("add", "mul") and kind(dtype) < 2:
            return ui64 if isinstance(dtype, IntType) and dtype.unsigned else i64
        return dtype

    def identity(self, dtype: Type) -> Value:
        """The neutral element; that of bools is an integer, since they are combined as integers."""
        if self.kind == "add":
            return const(0, value_type(dtype))
        if self.kind == "mul":
            return const(1, value_type(dtype))
        if dtype == i1:
            return const_index(1 if self.kind == "min" else 0)
        if dtype.is_float:
            return const(float("inf") if self.kind == "min" else float("-inf"), dtype)
        return const(INT64.max if self.kind == "min" else INT64.min, index)

    def combine(self, a: Scalar, b: Scalar) -> Scalar:
        """Two partial results combined."""
        floats, integers = _COMBINE[self.kind]
        if a.dtype == i1:
            return Scalar((ops.andi if self.kind == "min" else ops.ori)(a.value, b.value), i1, weak=False)
        if a.dtype.is_float:
            return Scalar(floats(a.value, b.value), a.dtype, weak=False)
        value = integers(self.ordered(a.value, a.dtype), self.ordered(b.value, a.dtype))
        return Scalar(wrap(self.ordered(value, a.dtype), a.dtype), a.dtype, weak=False)

    def ordered(self, x: Value, dtype: Type) -> Value:
        """An integer of ``dtype`` as a signed one with the same order; applied again, it is the original."""
        return unsigned.ordered(x, dtype) if self.kind in ("min", "max") else x


_COMBINE: dict[str, tuple[Callable[..., Value], Callable[..., Value]]] = {
    "add": (ops.addf, ops.addi),
    "mul": (ops.mulf, ops.muli),
    "min": (ops.minimumf, ops.minsi),
    "max": (ops.maximumf, ops.maxsi),
}
SUM = Reduction("sum", "add")
PROD = Reduction("prod", "mul")
MIN = Reduction("min", "min", "zero-size array to reduction operation minimum which has no identity")
MAX = Reduction("max", "max", "zero-size array to reduction operation maximum which has no identity")
ANY = Reduction("any", "max")
ALL = Reduction("all", "min")


@dataclass(frozen=True, eq=False)
class Over:
    """The axes that are reduced: all, or ``axes``, which remain with extent one if ``keepdims``."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = False

    def of(self, rank: int) -> tuple[int, ...]:
        return tuple(range(rank)) if self.axes is None else self.axes

    def is_number(self, rank: int) -> bool:
        """Whether the result is a number."""
        return len(self.of(rank)) == rank and not (self.keepdims and rank)

    def result_dims(self, dims: Sequence[Dim]) -> list[Dim]:
        axes = self.of(len(dims))
        return [1 if k in axes else d for k, d in enumerate(dims) if self.keepdims or k not in axes]


ALL_AXES = Over()


def reduce(
    frame: Frame, r: Reduction, value: Array | Lazy, over: Over = ALL_AXES, dtype: Type | None = None
) -> AbstractValue:
    """The elements of an array reduced to a number, or to an array over the other axes, in ``dtype``."""
    lazy = lazy_of(value)
    dtype = dtype or r.accumulator(lazy.dtype)
    if r.kind in ("add", "mul") and accumulator(dtype) != dtype:
        return _narrowed(frame, reduce(frame, r, lazy, over, accumulator(dtype)), dtype)
    if kind(dtype) == 3:
        return complex_reductions.reduce(frame, r.name, lazy, over.of(lazy.rank), over.result_dims(lazy.plain))
    if r.empty:
        for k in over.of(lazy.rank):
            check_not_empty(lazy.dims[k], r.empty)
    if isinstance(lazy, Selected) and lazy.before in over.of(lazy.rank) and not over.keepdims:
        lazy, over = _under_mask(r, lazy, over.of(lazy.rank), dtype)
    if not over.is_number(lazy.rank):
        return _along(frame, r, lazy, over, dtype)

    def total(dims: Sequence[Dim], general: bool) -> Value:
        return nested(list(dims), [], lambda i: operand(r, lazy.element(i, general), dtype), r, dtype)

    found = versioned(lazy, lambda: total(lazy.plain, False), lambda: total(lazy.dims, True))
    assert found is not None
    return Scalar(_from_operand(r, found, dtype), dtype, weak=False)


def _narrowed(frame: Frame, v: AbstractValue, dtype: Type) -> AbstractValue:
    """A result converted to NumPy's dtype, which differs from that of the accumulator."""

    if isinstance(v, Scalar):
        return cast(v, dtype, weak=False)
    assert isinstance(v, Array)
    lazy = lazy_of(v)

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        return cast(lazy.element(subscripts, general), dtype, weak=False)

    found = Lazy(lazy.dims, lazy.plain, dtype, element, lazy.reads)
    return materialise(frame, found)


def _under_mask(r: Reduction, value: Selected, axes: Sequence[int], dtype: Type) -> tuple[Lazy, Over]:
    """The whole array that a mask selects from, with the neutral element where the mask does not hold: so nothing is
    gathered."""
    whole, mask, first = value.whole, value.mask, value.before
    inside = i64 if dtype == i1 else dtype

    def element(i: Sequence[Value], general: bool) -> Number:
        return chosen(
            lambda: Scalar(mask.holds(i[first : first + mask.rank]), i1, weak=False),
            lambda: Scalar(convert(whole.element(i, general), inside), inside, weak=False),
            lambda: Scalar(r.ordered(r.identity(dtype), dtype), inside, weak=False),
        )

    over = {k + (mask.rank - 1) * (k > first) for k in axes} | set(range(first, first + mask.rank))
    lazy = Lazy(whole.dims, whole.plain, inside, element, value.reads, whole.equalities)
    return lazy, Over(tuple(sorted(over)))


def check_not_empty(d: Dim, message: str) -> None:
    """Raise ``ValueError`` if an extent is zero."""
    known = static_dim(d)
    if known is None or known == 0:
        trap_unless(ops.cmpi(dim_value(d), const_index(0), predicate="sgt"), "ValueError", message)


def operand(r: Reduction, s: Number, dtype: Type) -> Value:
    """An element as it is accumulated: bools as integers."""
    return r.ordered(convert(s, i64 if dtype == i1 else dtype), dtype)


def _from_operand(r: Reduction, value: Value, dtype: Type) -> Value:
    return nonzero(Scalar(value, i64)) if dtype == i1 else wrap(r.ordered(value, dtype), dtype)


def nested(
    dims: list[Dim], outer: list[Value], body: Callable[[list[Value]], Value], r: Reduction, dtype: Type
) -> Value:
    if not dims:
        return body(outer)
    block = Block([index], [f"i{len(outer)}"])
    with insert_at(block):
        partial = nested(dims[1:], [*outer, block.args[0]], body, r, dtype)
        build(ops.reduce, [partial], {"kinds": (r.kind,)})
    init = r.identity(dtype)
    bounds = [const_index(0), dim_value(dims[0]), const_index(1)]
    return build(ops.parallel, [*bounds, init], result_types=[partial.type], regions=[block]).result


def each(
    frame: Frame, lazy: Lazy, over: Over, dtype: Type, result: Callable[[Callable[[list[Value]], list[Value]]], Value]
) -> Array:
    """An array of the results of ``result`` for each group of elements that is reduced to one. ``result`` gets a
    function from subscripts of the reduced axes to those of the array, which must be in memory or not be stretched."""
    assert not lazy.equalities
    axes = over.of(lazy.rank)
    kept = [k for k in range(lazy.rank) if k not in axes]
    made = allocate(frame, over.result_dims(lazy.plain), dtype)

    def assign(outer: list[Value]) -> None:
        def place(inner: list[Value]) -> list[Value]:
            at = dict(zip((*kept, *axes), (*outer, *inner), strict=True))
            return [at[k] for k in range(lazy.rank)]

        subscripts = place([const_index(0)] * len(axes)) if over.keepdims else outer
        build(ops.store, [to_element(result(place), dtype), made.memref, *subscripts])

    nest([lazy.plain[k] for k in kept], assign)
    return made


def _along(frame: Frame, r: Reduction, lazy: Lazy, over: Over, dtype: Type) -> Array:
    if lazy.equalities:
        lazy = lazy_of(materialise(frame, lazy))
    axes = tuple(sorted(over.of(lazy.rank)))
    dims = [lazy.plain[k] for k in axes]
    over = Over(axes, over.keepdims)
    in_one = axes == tuple(range(axes[0], axes[-1] + 1)) if axes else False
    in_front = in_one and axes[-1] < lazy.rank - 1 and not _along_rows(lazy, axes)
    if in_front and (r.kind == "add" or dtype == i1):
        return _by_slabs(frame, r, lazy, over, dtype)

    def result(place: Callable[[list[Value]], list[Value]]) -> Value:
        total = nested(dims, [], lambda inner: operand(r, lazy.element(place(inner), False), dtype), r, dtype)
        return _from_operand(r, total, dtype)

    return each(frame, lazy, over, dtype, result)


def _along_rows(lazy: Lazy, axes: Sequence[int]) -> bool:
    """Whether one of the axes is that along which elements are neighbours in memory, as the first one is in a
    transposed array."""
    rows = [r.array.type.strides for r in lazy.reads if r.pointwise and r.array.rank == lazy.rank]
    return any(s is not None and any(s[k] == 1 for k in axes) and s[-1] != 1 for s in rows)


def _by_slabs(frame: Frame, r: Reduction, lazy: Lazy, over: Over, dtype: Type) -> Array:
    """Reduce axes in front of axes that remain: whole slabs are combined one after the other, as in NumPy, so that
    memory is read in order. Not for extremes, whose derivative would need all intermediate values."""
    axes = over.of(lazy.rank)
    first, last = axes[0], axes[-1] + 1
    made = allocate(frame, over.result_dims(lazy.plain), dtype)
    kept = [const_index(0)] * len(axes) if over.keepdims else []
    inner, slab = lazy.plain[first:last], lazy.plain[last:]
    neutral = Scalar(r.identity(dtype), i64 if dtype == i1 else dtype, weak=False)

    def group(before: list[Value]) -> None:
        nest(slab, lambda after: store_scalar(neutral, made.memref, [*before, *kept, *after], dtype))

        def combined(at: list[Value]) -> None:
            def one(after: list[Value]) -> None:
                place = [*before, *kept, *after]
                s = lazy.element([*before, *at, *after], False)
                so_far = as_scalar(load_scalar(made.memref, place, dtype))
                total = r.combine(so_far, Scalar(convert(s, dtype), dtype, weak=False))
                store_scalar(total, made.memref, place, dtype)

            nest(slab, one)

        serial(inner, combined)

    nest(lazy.plain[:first], group)
    return made


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, checked."""
    result = []
    for axis in axes:
        if not -rank <= axis < rank:
            raise refuse(
                current_loc(), f"axis {axis} is out of bounds for a {rank}-D array", kind=kinds.INVALID_AXIS
            )
        result.append(axis % rank)
    if len(set(result)) != len(result):
        raise refuse(current_loc(), "an axis is named twice", kind=kinds.INVALID_AXIS)
    return tuple(result)


def axes_of(axis: AbstractValue | None, rank: int, *, ranges: bool = True) -> tuple[int, ...] | None:
    """The argument ``axis``: None for all. ``ranges``: whether NumPy takes a range there."""
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        return None
    if isinstance(axis, Range) and not ranges:
        message = "the axis is an integer or a tuple of integers here, not a range"
        raise refuse(current_loc(), message, "write tuple(range(...))", kind=kinds.WRONG_TYPE)
    items = listed(axis)
    numbers = [needed_int(item) for item in items]
    known = [n for n in numbers if n is not None]
    for item, number in zip(items, numbers, strict=True):
        if number is None and isinstance(item, Static):
            message = f"an axis is an integer, not {describe_type(item)}"
            raise refuse(current_loc(), message, "axes count from 0, or from -1 at the end", kind=kinds.WRONG_TYPE)
    if len(known) != len(numbers):
        raise refuse(
            current_loc(),
            "the axis must be known when the function is compiled",
            "write it as a constant",
            kind=kinds.NOT_CONSTANT,
        )
    return normal_axes(known, rank)


def repeated_axes_of(axis: AbstractValue | None, rank: int) -> tuple[int, ...]:
    """The argument ``axis`` of a function for which an axis may be named several times."""
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        return tuple(range(rank))
    return tuple(k for item in listed(axis) for k in axes_of(item, rank) or ())


def listed(v: AbstractValue) -> Sequence[AbstractValue]:
    """The items of a tuple or a range, or the value itself: NumPy takes one axis or shift, or several."""
    bounds = [needed_int(b) for b in (v.start, v.stop, v.step)] if isinstance(v, Range) else [None]
    if None not in bounds:
        return tuple(map(Static, range(*bounds)))
    if isinstance(v, Static) and isinstance(v.value, tuple):
        return tuple(map(Static, v.value))
    return v.items if isinstance(v, Tuple) else (v,)


def count(value: Array | Lazy, over: Over) -> Value:
    """How many elements each result of a reduction combines."""
    total = const_index(1)
    for k in over.of(value.rank):
        total = ops.muli(total, dim_value(value.dims[k]))
    return total
