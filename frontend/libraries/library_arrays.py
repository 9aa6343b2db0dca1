"""NumPy's functions that make, copy and reshape arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays
from adc.frontend.arrays.nested import array_of, new_array
from adc.frontend.control.loops import counted, make_range
from adc.frontend.data.described import bounds_of
from adc.frontend.data.dims import dim_value
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Lazy,
    Range,
    Ref,
    Scalar,
    Static,
    Tuple,
    is_array,
    is_complex,
    is_numeric,
)
from adc.frontend.elements import to_element
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import extent, size
from adc.frontend.libraries.creation import astype, dtype_argument, need_array, shape_argument
from adc.frontend.libraries.memory_order import allocated, copy, is_fortran, turned
from adc.frontend.libraries.reducing import as_array
from adc.frontend.libraries.rules import Rule, common_dtype, need_numbers, no_keywords, positional, static_of, take
from adc.frontend.numeric import layouts, nests, views
from adc.frontend.numeric.convert import (
    as_complex,
    as_number,
    as_scalar,
    cannot_hold,
    convert,
    kind,
    nonzero,
    store_scalar,
)
from adc.frontend.objects import columns, growing, heap, rows
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.types import Type, f64, i64, index

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _filled(name: str, number: float | None) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        shape, dtype, order = take(f"np.{name}", ["shape", "dtype", "order"], args, kwargs)
        assert shape is not None
        fortran = is_fortran(f"np.{name}", order)
        result = allocated(frame, shape_argument(shape), dtype_argument(dtype, f64), fortran)
        return result if number is None else fill(result, Static(number))

    return rule


def fill(target: Array, value: AbstractValue) -> Array:
    """``target`` with all elements set to one number."""
    if target.is_complex:
        number = as_complex(value, target.dtype)
        if isinstance(value, Static) and value.value == 0:
            build(ops.fill, [number.real.value, target.memref])
        else:
            nests.nest(target.dims, lambda i: store_scalar(number, target.memref, i, target.dtype))
        return target
    if is_complex(value):
        raise cannot_hold()
    element = to_element(convert(as_scalar(value), target.dtype), target.dtype)
    build(ops.fill, [element, target.memref])
    return target


def _full(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    shape, value, dtype, order = take("np.full", ["shape", "fill_value", "dtype", "order"], args, kwargs, 2)
    assert shape is not None and value is not None
    given = value.dtype if is_array(value) else as_number(value).dtype  # type: ignore[attr-defined]
    dims, dtype_ = shape_argument(shape), dtype_argument(dtype, given)
    return _set(frame, allocated(frame, dims, dtype_, is_fortran("np.full", order)), value)


def _set(frame: Frame, result: Array, value: AbstractValue) -> Array:
    if is_array(value):
        arrays.store(frame, result, value)
        return result
    return fill(result, value)


_LIKE = ["a", "dtype", "order", "subok", "shape"]


def _filled_like(name: str, number: float | None) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        model, dtype, order, _, shape = take(f"np.{name}", _LIKE, args, kwargs)
        result = _allocate_like(frame, name, model, dtype, order, shape)
        return result if number is None else fill(result, Static(number))

    return rule


def _full_like(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    names = ["a", "fill_value", "dtype", "order", "subok", "shape"]
    model, value, dtype, order, _, shape = take("np.full_like", names, args, kwargs, 2)
    assert value is not None
    return _set(frame, _allocate_like(frame, "full_like", model, dtype, order, shape), value)


def _allocate_like(
    frame: Frame,
    name: str,
    model: AbstractValue | None,
    dtype: AbstractValue | None,
    order: AbstractValue | None,
    shape: AbstractValue | None,
) -> Array:
    if model is not None and is_numeric(model):
        model = nests.constant_array(model)
    if not isinstance(model, Array | Lazy):
        shown = "nothing" if model is None else describe_type(model)
        raise refuse(current_loc(), f"np.{name}() takes an array, not {shown}", for_array(model), kind=kinds.WRONG_TYPE)
    dims = model.dims if shape is None else shape_argument(shape)
    return allocated(frame, dims, dtype_argument(dtype, model.dtype), is_fortran(f"np.{name}", order))


def _copy(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, order, _ = take("np.copy", ["a", "order", "subok"], args, kwargs)
    assert value is not None
    return copy(frame, need_array("np.copy", value), is_fortran("np.copy", order))


def _array(name: str, copies: bool) -> Rule:
    names = ["object", "dtype", "copy", "order", "subok", "ndmin"] if copies else ["a", "dtype", "order", "copy"]

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        if name != "np.array" and len(args) > 3:
            raise refuse(current_loc(), f"{name}() takes 3 arguments here", kind=kinds.WRONG_CALL)
        given = dict(zip(names, take(name, names, args, kwargs), strict=True))
        value, dtype, wish, least = given[names[0]], given["dtype"], given.get("copy"), given.get("ndmin")
        assert value is not None
        wished, fortran = static_of(wish, "copy"), is_fortran(name, given["order"])
        made = _as_array(frame, name, value, dtype, wished if isinstance(wished, bool) else copies)
        made = in_fortran_order(frame, made) if fortran else made
        missing = (static_of(least, "ndmin") or 0) - made.rank
        return views.with_new_axes(made, [True] * missing + [False] * made.rank) if missing > 0 else made

    return rule


def _as_array(frame: Frame, name: str, value: AbstractValue, dtype: AbstractValue | None, copies: bool) -> Array:
    if isinstance(value, Array | Lazy):
        wanted = dtype_argument(dtype, value.dtype)
        if not copies and wanted == value.dtype and isinstance(value, Array):
            return value
        return copy(frame, astype(value, wanted))
    if isinstance(value, Range):
        numbers = _arange(frame, bounds_of(value), {})
        assert isinstance(numbers, Array)
        return copy(frame, astype(numbers, dtype_argument(dtype, i64)))
    if isinstance(value, Tuple):
        return array_of(frame, value, dtype_argument(dtype, None))
    if rows.grows(frame, value):  # a list of tuples of numbers
        assert isinstance(value, Ref)
        held = heap.contents(frame, value)
        whole, depth = columns.nested(growing.windows(held), rows.row_of(held))
        made = array_of(frame, whole if isinstance(whole, Tuple) else Tuple((whole,)), dtype_argument(dtype, None))
        order = Tuple((Static(depth), *(Static(k) for k in range(made.rank) if k != depth)))
        return copy(frame, frame.tracer.call(frame, Static(np.transpose), [made, order], {}))  # type: ignore[arg-type]
    if is_numeric(value):
        number = nests.constant_array(value)
        return copy(frame, astype(number, dtype_argument(dtype, number.dtype)))
    raise refuse(
        current_loc(),
        f"{name}() of {describe_type(value)} is not supported",
        "pass an array, a number, or a tuple of these",
        kind=kinds.WRONG_TYPE,
    )


def _as_fortran(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, dtype = take("np.asfortranarray", ["a", "dtype"], args, kwargs)
    assert value is not None
    made = _as_array(frame, "np.asfortranarray", value, dtype, copies=False)
    return views.with_new_axes(made, [True]) if made.rank == 0 else in_fortran_order(frame, made)


def in_fortran_order(frame: Frame, made: Array) -> Array:
    """The array, or a copy if it is not contiguous in Fortran's order."""
    return turned(_whole(frame, turned(made))) if made.rank > 0 else made


def _contiguous(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    """The array, or a copy if it is not contiguous. An argument that is a window is not."""
    value, dtype = take("np.ascontiguousarray", ["a", "dtype"], args, kwargs)
    assert value is not None
    made = _as_array(frame, "np.ascontiguousarray", value, dtype, copies=False)
    return views.with_new_axes(made, [True]) if made.rank == 0 else _whole(frame, made)


def _whole(frame: Frame, made: Array) -> Array:
    if layouts.layout_of(made.memref) is None:
        return copy(frame, made)
    if made.rank == 1:
        return views.vector_in_one_run(frame, made)
    whole = views.reshape(frame, made, [1], 0)  # a view if and only if it is contiguous
    return views.reshape(frame, whole, made.dims)


def _shape(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Tuple(tuple(extent(d) for d in as_array(frame, "np.shape", x).dims))


def _size(frame: Frame, x: AbstractValue) -> AbstractValue:
    return size(as_array(frame, "np.size", x).dims)


def _ndim(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Static(as_array(frame, "np.ndim", x).rank)


def _arange(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    given = dict(kwargs)
    dtype = given.pop("dtype", None)
    no_keywords("np.arange", given)
    need_numbers("np.arange", args)
    if len(args) == 3:
        step = as_scalar(args[2])
        trap_unless(nonzero(step), "ZeroDivisionError", "the step of np.arange() is zero")
    whole = all(kind(as_scalar(v).dtype) < 2 for v in args)
    to = dtype_argument(dtype, i64 if whole else f64)
    if whole:
        trip = counted(make_range(args))
        count = trip.trips()
    elif kind(to) < 2:
        help = "make floats, and convert them: np.arange(...).astype(int)"
        message = "np.arange() of floats with an integer dtype is not supported"
        raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
    else:
        count = _float_count(*_bounds(args, f64))
    result = new_array(frame, [count], to)
    if kind(to) == 2:
        element = _progression(*_bounds(args, f64)[::2], to)
    else:

        def element(i: Value) -> Value:
            return convert(Scalar(trip.value(trip.lower + i * trip.step), i64), to)

    def assign(i: list[Value]) -> None:
        build(ops.store, [to_element(element(i[0]), to), result.memref, *i])

    nests.nest([count], assign)
    return result


def _bounds(args: Args, dtype: Type) -> tuple[Value, Value, Value]:
    """Start, stop and step of a range of floats."""
    start, stop, step = (Static(0), *args, Static(1))[-3:] if len(args) == 1 else (*args, Static(1))[:3]
    return tuple(convert(as_scalar(v), dtype) for v in (start, stop, step))  # type: ignore[return-value]


def _float_count(start: Value, stop: Value, step: Value) -> Value:
    """The number of elements of a range of floats, as in NumPy."""
    zero, one = const(0.0, f64), const(1.0, f64)
    distance = ops.subf(stop, start)
    steps = ops.divf(distance, step)
    trap_unless(ops.cmpf(steps, steps, predicate="oeq"), "ValueError", "the length of np.arange() is not a number")
    # The distance is so small, or the step so large, that the quotient underflows to zero.
    vanished = ops.andi(ops.cmpf(steps, zero, predicate="oeq"), ops.cmpf(distance, zero, predicate="une"))
    upwards = ops.cmpf(ops.copysign(one, steps), zero, predicate="ogt")
    steps = ops.select(vanished, ops.select(upwards, one, zero), steps)
    steps = ops.maximumf(ops.ceil(steps), zero)
    trap_unless(ops.cmpf(steps, const(2.0**60, f64), predicate="olt"), "ValueError", "np.arange() is too long")
    return ops.fptosi(steps, type=index)


def _progression(lower: Value, step: Value, dtype: Type) -> Callable[[Value], Value]:
    """The elements as computed by NumPy: from the first two and the difference between these."""
    start, second = (convert(Scalar(v, f64), dtype) for v in (lower, ops.addf(lower, step)))
    between = ops.subf(second, start)

    def element(i: Value) -> Value:
        first, next = (ops.cmpi(i, const_index(k), predicate="eq") for k in (0, 1))
        later = ops.addf(start, ops.mulf(ops.sitofp(i, type=start.type), between))
        return ops.select(first, start, ops.select(next, second, later))

    return element


def _linspace(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    names = ["start", "stop", "num", "endpoint", "retstep", "dtype", "axis"]
    start, stop, number, endpoint, retstep, dtype, _ = take("np.linspace", names, args, kwargs, 2)
    count = shape_argument(Static(50) if number is None else number)[0]
    assert start is not None and stop is not None
    inside, _ = common_dtype([start, stop, Static(1.0)])
    low, high = (convert(as_scalar(v), inside) for v in (start, stop))
    closed = endpoint is None or bool(static_of(endpoint, "endpoint"))
    to = dtype_argument(dtype, inside)
    result = new_array(frame, [count], to)
    last = ops.subi(dim_value(count), const_index(1))
    gaps = _float(ops.maxsi(last if closed else dim_value(count), const_index(1)), inside)
    step = ops.divf(ops.subf(high, low), gaps)

    def assign(i: list[Value]) -> None:
        value = ops.addf(ops.mulf(_float(i[0], inside), step), low)
        if closed:  # the last point is exact
            ends = ops.cmpi(i[0], last, predicate="eq")
            ends = ops.andi(ends, ops.cmpi(last, const_index(0), predicate="sgt"))
            value = ops.select(ends, high, value)
        if kind(to) < 2:
            value = ops.floor(value)
        build(ops.store, [to_element(convert(Scalar(value, inside), to), to), result.memref, *i])

    nests.nest([count], assign)
    if retstep is None or not static_of(retstep, "retstep"):
        return result
    several = ops.cmpi(last if closed else dim_value(count), const_index(0), predicate="sgt")
    nothing = const(float("nan"), inside)
    return Tuple((result, Scalar(ops.select(several, step, nothing), inside, weak=False)))


def _float(n: Value, dtype: Type) -> Value:
    return convert(Scalar(n, i64, weak=False), dtype)


TABLE: dict[Any, Rule] = {
    np.zeros: _filled("zeros", 0),
    np.ones: _filled("ones", 1),
    np.empty: _filled("empty", None),
    np.full: _full,
    np.zeros_like: _filled_like("zeros_like", 0),
    np.ones_like: _filled_like("ones_like", 1),
    np.empty_like: _filled_like("empty_like", None),
    np.full_like: _full_like,
    np.copy: _copy,
    np.array: _array("np.array", copies=True),
    np.asarray: _array("np.asarray", copies=False),
    np.asanyarray: _array("np.asanyarray", copies=False),
    np.ascontiguousarray: _contiguous,
    np.asfortranarray: _as_fortran,
    np.ndarray: _filled("ndarray", None),
    np.arange: _arange,
    np.linspace: _linspace,
    np.shape: positional("np.shape", 1, _shape),
    np.size: positional("np.size", 1, _size),
    np.ndim: positional("np.ndim", 1, _ndim),
}
