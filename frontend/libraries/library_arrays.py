"""NumPy's functions that make, copy and reshape arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.control.loops import counted, make_range
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Lazy,
    Scalar,
    Static,
    Tuple,
    describe_type,
    dim_value,
    is_array,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import extent, size
from adc.frontend.libraries.creation import array_of, dtype_argument, need_array, shape_argument
from adc.frontend.libraries.methods import astype, copy, cumulative_axes
from adc.frontend.numeric import arrays, nests, subscripts
from adc.frontend.numeric.convert import as_scalar, convert, store_scalar, to_element
from adc.frontend.numeric.rules import Rule, no_keywords, positional, take
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.types import f64, i64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _filled(name: str, number: float | None) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        shape, dtype = take(f"np.{name}", ["shape", "dtype"], args, kwargs)
        assert shape is not None
        result = nests.allocate(frame, shape_argument(shape), dtype_argument(dtype, f64))
        return result if number is None else fill(result, Static(number))

    return rule


def fill(target: Array, value: AbstractValue) -> Array:
    """All elements set to one number."""
    element = to_element(convert(as_scalar(value), target.dtype), target.dtype)
    build(ops.fill, [element, target.memref])
    return target


def _full(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    shape, value, dtype = take("np.full", ["shape", "fill_value", "dtype"], args, kwargs, 2)
    assert shape is not None and value is not None
    if is_array(value):
        result = nests.allocate(frame, shape_argument(shape), dtype_argument(dtype, value.dtype))  # type: ignore[attr-defined]
        arrays.store(frame, result, value)
        return result
    result = nests.allocate(frame, shape_argument(shape), dtype_argument(dtype, as_scalar(value).dtype))
    return fill(result, value)


def _filled_like(name: str, number: float | None) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        model, dtype, shape = take(f"np.{name}", ["a", "dtype", "shape"], args, kwargs)
        result = _allocate_like(frame, name, model, dtype, shape)
        return result if number is None else fill(result, Static(number))

    return rule


def _full_like(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    model, value, dtype = take("np.full_like", ["a", "fill_value", "dtype"], args, kwargs, 2)
    assert value is not None
    result = _allocate_like(frame, "full_like", model, dtype, None)
    if is_array(value):
        arrays.store(frame, result, value)
        return result
    return fill(result, value)


def _allocate_like(
    frame: Frame, name: str, model: AbstractValue | None, dtype: AbstractValue | None, shape: AbstractValue | None
) -> Array:
    if not isinstance(model, Array | Lazy):
        shown = "nothing" if model is None else describe_type(model)
        raise refuse(current_loc(), f"np.{name}() takes an array, not {shown}", kind=kinds.WRONG_TYPE)
    dims = model.dims if shape is None else shape_argument(shape)
    return nests.allocate(frame, dims, dtype_argument(dtype, model.dtype))


def _copy(frame: Frame, x: AbstractValue) -> AbstractValue:
    return copy(frame, need_array("np.copy", x))


def _array(name: str, copies: bool) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        value, dtype = take(name, ["a", "dtype"], args, kwargs)
        assert value is not None
        if isinstance(value, Array | Lazy):
            wanted = dtype_argument(dtype, value.dtype)
            if not copies and wanted == value.dtype and isinstance(value, Array):
                return value
            return copy(frame, astype(value, wanted))
        if isinstance(value, Tuple):
            return array_of(frame, value, dtype)
        raise refuse(
            current_loc(),
            f"{name}() of {describe_type(value)} is not supported",
            "pass an array or a tuple of numbers",
            kind=kinds.WRONG_TYPE,
        )

    return rule


def _transpose(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axes = take("np.transpose", ["a", "axes"], args, kwargs)
    owner = need_array("np.transpose", value)
    if axes is None:
        return subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    return subscripts.transpose(owner, cumulative_axes(axes, owner.rank))


def _shape(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Tuple(tuple(extent(d) for d in need_array("np.shape", x).dims))


def _size(frame: Frame, x: AbstractValue) -> AbstractValue:
    return size(need_array("np.size", x).dims)


def _ndim(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Static(x.rank if isinstance(x, Array | Lazy) else 0)


def _arange(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    no_keywords("np.arange", kwargs)
    r = make_range(args)
    trip = counted(r)
    count = trip.trips()
    result = nests.allocate(frame, [count], i64)

    def assign(i: list[Value]) -> None:
        value = trip.value(trip.lower + i[0] * trip.step)
        store_scalar(Scalar(value, i64), result.memref, i, i64)

    nests.nest([count], assign)
    return result


def _linspace(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    start, stop, number = take("np.linspace", ["start", "stop", "num"], args, kwargs, 2)
    count = shape_argument(Static(50) if number is None else number)[0]
    low, high = (convert(as_scalar(v), f64) for v in (start, stop) if v is not None)
    result = nests.allocate(frame, [count], f64)
    last = ops.subi(dim_value(count), const_index(1))
    gaps = ops.sitofp(ops.maxsi(last, const_index(1)), type=f64)
    step = ops.divf(ops.subf(high, low), gaps)

    def assign(i: list[Value]) -> None:
        inner = ops.addf(ops.mulf(ops.sitofp(i[0], type=f64), step), low)
        ends = ops.andi(
            ops.cmpi(i[0], last, predicate="eq"), ops.cmpi(last, const_index(0), predicate="sgt")
        )  # the last point is exact
        build(ops.store, [ops.select(ends, high, inner), result.memref, *i])

    nests.nest([count], assign)
    return result


TABLE: dict[Any, Rule] = {
    np.zeros: _filled("zeros", 0),
    np.ones: _filled("ones", 1),
    np.empty: _filled("empty", None),
    np.full: _full,
    np.zeros_like: _filled_like("zeros_like", 0),
    np.ones_like: _filled_like("ones_like", 1),
    np.empty_like: _filled_like("empty_like", None),
    np.full_like: _full_like,
    np.copy: positional("np.copy", 1, _copy),
    np.array: _array("np.array", copies=True),
    np.asarray: _array("np.asarray", copies=False),
    np.arange: _arange,
    np.linspace: _linspace,
    np.transpose: _transpose,
    np.shape: positional("np.shape", 1, _shape),
    np.size: positional("np.size", 1, _size),
    np.ndim: positional("np.ndim", 1, _ndim),
}
