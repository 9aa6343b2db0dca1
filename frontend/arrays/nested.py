"""New arrays, and those that are made of nested tuples of numbers and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from adc.frontend.arrays import arrays
from adc.frontend.data.dims import SHAPE_ERROR, Dim, dim_value, equal_dims, same_dim, static_dim
from adc.frontend.data.values import AbstractValue, Array, Lazy, Static, Tuple, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import views
from adc.frontend.numeric.convert import as_number, promote_types, store_scalar
from adc.frontend.numeric.nests import allocate
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import current_loc
from adc.ir.types import Type, f64, scalar_bytes

MOST_BYTES = 1 << 45
"""The size limit of one array: more than any machine has."""
_LARGEST = (1 << 63) - 1


def new_array(frame: Frame, dims: Sequence[Dim], dtype: Type) -> Array:
    """Uninitialised memory for as many elements as the program asks for."""
    _check_size(dims, dtype)
    return allocate(frame, dims, dtype)


def _check_size(dims: Sequence[Dim], dtype: Type) -> None:
    """Make an array that no machine can hold a MemoryError, even if it is never made, or has no elements: then, as in
    NumPy, the other extents count. Extents of existing arrays are not checked."""
    sizes = [dim_value(d) for d in dims]
    if all(n.op is not None and n.op.opdef in (ops.dim, ops.constant) for n in sizes) and any(
        constant_of(n) is None for n in sizes
    ):
        return
    item, one = scalar_bytes(dtype), const_index(1)
    total = reduce(ops.muli, sizes, const_index(item))
    if len(sizes) == 1:
        fits = ops.cmpi(sizes[0], const_index(MOST_BYTES // item), predicate="sle")
        exact = ops.cmpi(sizes[0], const_index(_LARGEST // item), predicate="sle")
    else:  # a float does not wrap around
        floats = [ops.sitofp(ops.maxsi(n, one), type=f64) for n in sizes]
        count = reduce(ops.mulf, floats, const(float(item), f64))
        exact = ops.cmpf(count, const(float(_LARGEST), f64), predicate="olt")
        empty = ops.andi(exact, ops.cmpi(total, const_index(0), predicate="eq"))
        fits = ops.ori(empty, ops.cmpf(count, const(float(MOST_BYTES), f64), predicate="ole"))
    shown = ops.select(exact, total, const_index(_LARGEST))
    trap_unless(fits, "MemoryError", "cannot allocate an array of {} bytes", shown)


def array_of(frame: Frame, value: Tuple, dtype: Type | None) -> Array:
    """An array from nested tuples of numbers and arrays."""
    dims = _nested_dims(value)
    result = new_array(frame, dims, _nested_dtype(value) if dtype is None else dtype)
    _store_nested(frame, result, value)
    return result


_RAGGED = "the requested array has an inhomogeneous shape"


def _nested_dims(value: AbstractValue) -> tuple[Dim, ...]:
    """The extents of an array of nested values; those of other items are asserted to equal those of the first."""
    if isinstance(value, Array | Lazy):
        return value.dims
    if not isinstance(value, Tuple):
        if is_numeric(value):
            return ()
        if isinstance(value, Static) and value.value is None:
            help = "fill it with np.nan until there are numbers: np.full(shape, np.nan)"
            raise refuse(current_loc(), "an array of None is not supported", help, kind=kinds.WRONG_TYPE)
        help = "make it with np.zeros, and store the rows"
        raise refuse(current_loc(), "an array is made of numbers", help, kind=kinds.WRONG_TYPE)
    first: tuple[Dim, ...] = ()
    for k, item in enumerate(value.items):
        dims = _nested_dims(item)
        first = first if k else dims
        known = [(static_dim(a), static_dim(b)) for a, b in zip(first, dims, strict=False)]
        if len(dims) != len(first) or any(a != b and None not in (a, b) for a, b in known):
            help = "make them equally long, or pass them as arrays of their own"
            raise refuse(current_loc(), "the rows differ in length", help, kind=kinds.INVALID_VALUE)
        for a, b in zip(first, dims, strict=True):
            if not same_dim(a, b):
                trap_unless(equal_dims(a, b), SHAPE_ERROR, _RAGGED)
    return (len(value.items), *first)


def _nested_dtype(value: AbstractValue) -> Type:
    """The dtype of an array of nested values: Python's numbers count like NumPy's here."""
    if isinstance(value, Array | Lazy):
        return value.dtype
    if isinstance(value, Tuple):
        found = [_nested_dtype(item) for item in value.items if not isinstance(item, Tuple) or item.items] or [f64]
        return reduce(lambda a, b: promote_types(a, False, b, False), found)
    return as_number(value).dtype


def _store_nested(frame: Frame, target: Array, value: AbstractValue, at: tuple[int, ...] = ()) -> None:
    if isinstance(value, Tuple):
        for k, item in enumerate(value.items):
            _store_nested(frame, target, item, (*at, k))
    elif isinstance(value, Array | Lazy):
        for k in at:
            target = views.row(target, const_index(k))
        arrays.store(frame, target, value)
    else:
        store_scalar(value, target.memref, list(map(const_index, at)), target.dtype)
