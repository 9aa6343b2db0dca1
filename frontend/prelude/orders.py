"""Sorting, searching, and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.bins import directions
from adc.frontend.kernels.places import picked
from adc.frontend.kernels.sets import are_there, groups, put_back, where_set
from adc.frontend.kernels.sorting import in_order, order_of, order_of_vector, place_in, places_in, vector_in_order
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of, flat, in_the_middle, no_nest, promoted


def _ordered(a: Any, axis: Any) -> Any:
    if axis is None:
        return vector_in_order(flat(a))
    return in_order(in_the_middle(a, axis_of(a, axis))).reshape(a.shape)


def _order(a: Any, axis: Any) -> Any:
    if axis is None:
        return order_of_vector(flat(a))
    k = axis_of(a, axis)
    return order_of_vector(a) if a.ndim == 1 else order_of(in_the_middle(a, k)).reshape(a.shape)


def _by_fields(a: Any, order: Any) -> Any:
    """The order of a structured array: by the named fields, then by the others."""
    first = () if order is None else (order,) if isinstance(order, str) else tuple(order)
    ranked = first + tuple(name for name in a.dtype.names if name not in first)
    for name in ranked:
        if a.dtype[name].names is not None or a.dtype[name].ndim > 0:
            unsupported("sorting a structured array with fields of several numbers", "use a[np.argsort(a['x'])]")
    return np.lexsort(tuple(a[name] for name in ranked[::-1]))


@stands_for("numpy.sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    a = np.asarray(a)
    if a.dtype.names is not None:
        return a[_by_fields(a, order)]
    return _ordered(np.asarray(a), axis)


@stands_for("numpy.ndarray.sort")
def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    if a.dtype.names is not None:
        if not a.dtype.isalignedstruct and sum(a.dtype[name].itemsize for name in a.dtype.names) < a.dtype.itemsize:
            # NumPy would move the other fields of that memory along.
            unsupported("sorting some fields of an array in place is not supported", "use np.sort(a)")
        a[:] = a[_by_fields(a, order)]
        return
    a[...] = _ordered(a, axis)


@stands_for("numpy.argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    a = np.asarray(a)
    if a.dtype.names is not None:
        return _by_fields(a, order)
    return _order(np.asarray(a), axis)


@stands_for("numpy.sort_complex")
def sort_complex(a: Any) -> Any:
    z = np.asarray(a)
    if not np.iscomplexobj(z):
        z = z.astype(np.complex64 if z.dtype.char in "bhBH" else np.complex128)
    if z.ndim == 0:
        unsupported("np.sort_complex() takes arrays", "a number is in order")
    z = np.take_along_axis(z, np.argsort(z.imag, -1, "stable"), -1)
    return np.take_along_axis(z, np.argsort(z.real, -1, "stable"), -1)


@stands_for("numpy.partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    return _ordered(np.asarray(a), axis)


@stands_for("numpy.ndarray.partition")
def partition_in_place(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> None:
    a[...] = _ordered(a, axis)


@stands_for("numpy.argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    return _order(np.asarray(a), axis)


@stands_for("numpy.lexsort")
def lexsort(keys: Any, axis: Any = -1) -> Any:
    order = None
    for key in keys:
        x = np.asarray(key)
        if x.ndim != 1:
            unsupported("np.lexsort() takes vectors here", "call it for each row")
        order = order_of_vector(x) if order is None else picked(order, order_of_vector(picked(x, order)))
    return order


@stands_for("numpy.searchsorted")
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    x = np.asarray(a)
    if sorter is not None:
        x = picked(x, np.asarray(sorter))
    if constant(side) != "left" and side != "right":
        raise ValueError(f"search side must be 'left' or 'right' (got '{side}')")
    right = side == "right"
    values = no_nest(v)
    if np.ndim(values) == 0:
        return np.int64(place_in(x, values, right))
    return places_in(x, flat(values), right).reshape(values.shape)


@stands_for("numpy.digitize")
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    edges = np.asarray(bins)
    rising, falling = directions(edges)
    if not rising and not falling:
        raise ValueError("bins must be monotonically increasing or decreasing")
    # Before edges that are equal, if the right end of an interval belongs to it.
    side: Any = "left" if constant(right) else "right"
    order = np.arange(len(edges)) if rising else np.arange(len(edges))[::-1].copy()
    found = np.searchsorted(picked(edges, order), x, side=side)
    return found if rising else len(edges) - found


@stands_for("numpy.unique")
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    if axis is not None:
        unsupported("np.unique() along an axis is not supported", "go through the rows in a loop")
    shape = np.asarray(ar).shape
    x = flat(ar)
    first, counts, order, numbers = groups(x, constant(equal_nan))
    result = [picked(x, first)]
    if constant(return_index):
        result.append(first)
    if constant(return_inverse):
        result.append(put_back(numbers, order).reshape(shape))
    if constant(return_counts):
        result.append(counts)
    return result[0] if len(result) == 1 else tuple(result)


@stands_for("numpy.unique_values")
def unique_values(x: Any, /) -> Any:
    return unique(x)


def _joined(a: Any, b: Any) -> Any:
    x, y = flat(a), flat(b)
    out = np.empty(len(x) + len(y), promoted(x.dtype, y.dtype))
    out[: len(x)] = x
    out[len(x) :] = y
    return out


@stands_for("numpy.isin")
def isin(
    element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None
) -> Any:
    known = vector_in_order(flat(test_elements))
    x = no_nest(element)
    if np.ndim(x) == 0:
        place = place_in(known, x, False)
        return (place < len(known) and known[min(place, len(known) - 1)] == x) != constant(invert)
    return are_there(known, flat(x), constant(invert)).reshape(x.shape)


@stands_for("numpy.union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(_joined(ar1, ar2))


@stands_for("numpy.intersect1d")
def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False) -> Any:
    if constant(return_indices):
        unsupported("np.intersect1d() with return_indices is not supported", "look them up with np.searchsorted")
    x = unique(ar1)
    kind = promoted(x.dtype, flat(ar2).dtype)
    return _kept(x, isin(x, ar2), kind)


@stands_for("numpy.setdiff1d")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    x = flat(ar1) if constant(assume_unique) else unique(ar1)
    return _kept(x, isin(x, ar2, invert=True), x.dtype)


@stands_for("numpy.setxor1d")
def setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    x, y = unique(ar1), unique(ar2)
    of_x, of_y = _kept(x, isin(x, y, invert=True), x.dtype), _kept(y, isin(y, x, invert=True), y.dtype)
    return vector_in_order(_joined(of_x, of_y))


def _kept(x: Any, mask: Any, kind: Any) -> Any:
    return picked(x, where_set(mask)).astype(kind, copy=False)


_NEW = hasattr(np, "unique_all")
_COUNTS: Any = type(np.unique_counts([0])) if _NEW else tuple
_INVERSE: Any = type(np.unique_inverse([0])) if _NEW else tuple
_ALL: Any = type(np.unique_all([0])) if _NEW else tuple


@stands_for("numpy.unique_counts")
def unique_counts(x: Any) -> Any:
    return _COUNTS(*np.unique(x, return_counts=True, equal_nan=False))


@stands_for("numpy.unique_inverse")
def unique_inverse(x: Any) -> Any:
    return _INVERSE(*np.unique(x, return_inverse=True, equal_nan=False))


@stands_for("numpy.unique_all")
def unique_all(x: Any) -> Any:
    return _ALL(*np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False))
