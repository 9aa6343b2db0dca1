"""Arrays put together, and taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of, part


@stands_for("numpy.concatenate", "numpy.concat")
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    if isinstance(arrays, np.ndarray):
        return _rows_joined(arrays, axis)
    items = tuple(np.asarray(a) for a in arrays)
    if len(items) == 0:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        items = tuple(np.ravel(a) for a in items)
        axis = 0
    first = items[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    k = axis_of(first, axis)
    total = 0
    for position, a in enumerate(items):
        _check_joined(first, a, position, k)
        total = total + a.shape[k]
    if out is None:
        kind = np.result_type(*items) if dtype is None else dtype
        out = np.empty((*first.shape[:k], total, *first.shape[k + 1 :]), kind)
    at = 0
    for a in items:
        part(out, k, at, at + a.shape[k])[...] = a
        at = at + a.shape[k]
    return out


def _check_joined(first: Any, a: Any, position: Any, k: Any) -> None:
    if a.ndim != first.ndim:
        raise ValueError(
            "all the input arrays must have same number of dimensions, but the array at index 0 has "
            f"{first.ndim} dimension(s) and the array at index {position} has {a.ndim} dimension(s)"
        )
    for d, (n, m) in enumerate(zip(first.shape, a.shape)):
        if d != k and n != m:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match exactly, but along "
                f"dimension {d}, the array at index 0 has size {n} and the array at index {position} has size {m}"
            )


def _rows_joined(a: Any, axis: Any) -> Any:
    """The items of an array along its first axis, concatenated."""
    if axis is None:
        return a.flatten()
    if a.ndim < 2:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    k = axis_of(a[0], axis)
    moved = np.moveaxis(a, 0, k).copy()
    return moved.reshape((*moved.shape[:k], moved.shape[k] * moved.shape[k + 1], *moved.shape[k + 2 :]))


@stands_for("numpy.stack")
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if isinstance(arrays, np.ndarray):
        return np.moveaxis(arrays, 0, axis).copy()
    items = tuple(np.asarray(a) for a in arrays)
    if len(items) == 0:
        raise ValueError("need at least one array to stack")
    first = items[0]
    for a in items:
        if a.ndim != first.ndim:
            raise ValueError("all input arrays must have the same shape")
        for n, m in zip(first.shape, a.shape):
            if n != m:
                raise ValueError("all input arrays must have the same shape")
    if out is None:
        kind = np.result_type(*items) if dtype is None else dtype
        k = constant(axis) % (first.ndim + 1)
        if constant(axis) > first.ndim or constant(axis) < -first.ndim - 1:
            raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {first.ndim + 1}")
        out = np.empty((*first.shape[:k], len(items), *first.shape[k:]), kind)
    rows = np.moveaxis(out, axis, 0)
    for position, a in enumerate(items):
        rows[position, ...] = a
    return out


@stands_for("numpy.vstack", "numpy.row_stack")
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if isinstance(tup, np.ndarray):
        return _rows_joined(tup if tup.ndim > 2 else np.reshape(tup, (len(tup), 1, -1)), 0)
    return concatenate(tuple(np.atleast_2d(a) for a in tup), axis=0, dtype=dtype, casting=casting)


@stands_for("numpy.hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if isinstance(tup, np.ndarray):
        return _rows_joined(tup if tup.ndim > 1 else tup[:, None], 0 if tup.ndim < 3 else 1)
    items = tuple(np.atleast_1d(a) for a in tup)
    return concatenate(items, axis=0 if items[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@stands_for("numpy.dstack")
def dstack(tup: Any) -> Any:
    if isinstance(tup, np.ndarray) and tup.ndim < 4:
        return tup.transpose(1, 2, 0).copy() if tup.ndim == 3 else np.atleast_2d(tup.T)[None].copy()
    return concatenate(tuple(np.atleast_3d(a) for a in tup), axis=2)


@stands_for("numpy.column_stack")
def column_stack(tup: Any) -> Any:
    if isinstance(tup, np.ndarray) and tup.ndim == 2:
        return tup.T.copy()
    if isinstance(tup, np.ndarray) and tup.ndim > 2:
        return concatenate(tup, axis=1)
    return concatenate(tuple(_column(np.atleast_1d(a)) for a in tup), axis=1)


def _column(a: Any) -> Any:
    return a[:, None] if a.ndim == 1 else a


@stands_for("numpy.block")
def block(arrays: Any) -> Any:
    if not isinstance(arrays, (list, tuple)):
        return np.array(arrays)
    if len(arrays) == 0:
        raise ValueError("List at arrays cannot be empty")
    for k, row in enumerate(arrays):
        if isinstance(row, (list, tuple)) and len(row) == 0:
            raise ValueError(f"List at arrays[{k}] cannot be empty")
    if not isinstance(arrays[0], (list, tuple)):
        rank = 1
        for a in arrays:
            rank = max(rank, np.ndim(a))
        return _in_a_row(arrays, rank)
    rank = 2
    for row in arrays:
        for a in row:
            if isinstance(a, (list, tuple)):
                unsupported("np.block() of lists three deep is not supported", "join the innermost with np.concatenate")
            rank = max(rank, np.ndim(a))
    return concatenate(tuple(_in_a_row(row, rank) for row in arrays), axis=-2)


def joined_row(items: Any) -> Any:
    """The items of an array along its first axis, as blocks in a row."""
    return _rows_joined(items, -1) if items.ndim > 1 else items


def joined_column(items: Any) -> Any:
    """The same below each other, as rows of one block each."""
    if len(items) == 0:
        raise ValueError("List at arrays cannot be empty")
    rank = items.ndim
    return _rows_joined(items if rank > 2 else items.reshape((len(items), 1, -1)), -2)


def joined_table(items: Any) -> Any:
    """The items of an array along its first two axes, as rows of blocks."""
    rows = _rows_joined(np.moveaxis(items, 1, 0), -1) if items.ndim > 2 else items
    return joined_column(rows)


def _in_a_row(row: Any, rank: Any) -> Any:
    return concatenate(tuple(_of_rank(a, rank) for a in row), axis=-1)


def _of_rank(v: Any, rank: Any) -> Any:
    a = np.asarray(v)
    missing = constant(rank) - a.ndim
    return a[(None,) * missing] if missing else a


@stands_for("numpy.append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate((arr, values), axis=axis)


@stands_for("numpy.array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    k = axis_of(ary, axis)
    n = ary.shape[k]
    if isinstance(indices_or_sections, (int, np.integer)):
        count = constant(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, more = n // count, n % count
        ends = [each * (i + 1) + min(i + 1, more) for i in range(count)]
        return [part(ary, k, 0 if i == 0 else ends[i - 1], ends[i]) for i in range(count)]
    if isinstance(indices_or_sections, np.ndarray):
        unsupported("np.split() at an array of positions is not supported", "write them as a list: [2, 5]")
    cuts = tuple(indices_or_sections)
    first = (0, *cuts)
    last = (*cuts, None)
    return [part(ary, k, first[i], last[i]) for i in range(len(cuts) + 1)]


@stands_for("numpy.split")
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    whole = isinstance(indices_or_sections, (int, np.integer))
    if whole and ary.shape[axis_of(ary, axis)] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@stands_for("numpy.hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@stands_for("numpy.vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@stands_for("numpy.dsplit")
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)
