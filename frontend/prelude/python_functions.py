"""Python's own functions of arrays, which process the items one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.python_heaps import order_of

_NOTHING = object()


@stands_for("builtins.max")
def greatest(a: Any, *, key: Any = None, default: Any = _NOTHING) -> Any:
    items = _items(a, "max", key)
    if default is not _NOTHING and len(items) == 0:
        return default
    if len(items) == 0:
        raise ValueError("max() iterable argument is empty")
    ranks = _ranks(items, key)
    best, at = ranks[0], 0
    for i in range(1, len(items)):
        if ranks[i] > best:
            best, at = ranks[i], i
    return items[at]


@stands_for("builtins.min")
def least(a: Any, *, key: Any = None, default: Any = _NOTHING) -> Any:
    items = _items(a, "min", key)
    if default is not _NOTHING and len(items) == 0:
        return default
    if len(items) == 0:
        raise ValueError("min() iterable argument is empty")
    ranks = _ranks(items, key)
    best, at = ranks[0], 0
    for i in range(1, len(items)):
        if ranks[i] < best:
            best, at = ranks[i], i
    return items[at]


def called_without_items(name: Any) -> Any:
    raise TypeError(f"{name} expected at least 1 argument, got 0")


def called_with_default(name: Any) -> Any:
    raise TypeError(f"Cannot specify a default for {name}() with multiple positional arguments")


def _items(a: Any, name: Any, key: Any) -> Any:
    """The items as something that can be subscripted."""
    if isinstance(a, np.ndarray):
        if key is None:
            _need_vector(a, name)
        return a
    return list(a)


def _ranks(items: Any, key: Any) -> Any:
    """The numbers by which items are compared."""
    if key is None:
        return items
    return [key(x) for x in items]


def kept(keep: Any, a: Any) -> Any:
    """The items that ``filter`` keeps."""
    if keep is None:
        return [x for x in a if x]
    return [x for x in a if keep(x)]


@stands_for("builtins.slice.indices")
def slice_indices(part: Any, length: Any, /) -> Any:
    if length < 0:
        raise ValueError("length should not be negative")
    step = 1 if part.step is None else part.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low = 0 if step > 0 else -1
    high = length + low
    start = _within(part.start, length, low, high) if part.start is not None else (low if step > 0 else high)
    stop = _within(part.stop, length, low, high) if part.stop is not None else (high if step > 0 else low)
    return start, stop, step


def _within(bound: Any, length: Any, low: Any, high: Any) -> Any:
    """A bound of a slice, counted from the front."""
    return max(bound + length, low) if bound < 0 else min(bound, high)


@stands_for("builtins.any")
def any_of(a: Any) -> Any:
    _need_vector(a, "any")
    return bool(np.any(a))


@stands_for("builtins.all")
def all_of(a: Any) -> Any:
    _need_vector(a, "all")
    return bool(np.all(a))


def contains(a: Any, x: Any) -> Any:
    """``x in a``."""
    return bool(np.any(a == x))


def _need_vector(a: Any, name: Any) -> None:
    if a.ndim != 1:
        unsupported(f"{name}() takes an array of one dimension", f"use np.{name}")


@stands_for("builtins.sum")
def sum_of_rows(a: Any, start: Any = 0) -> Any:
    total = start + np.zeros(a.shape[1:], a.dtype)
    for i in range(len(a)):
        total += a[i]
    return total


def sorted_list(a: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    items = _items(a, "sort", key)
    found = _ranks(items, key)
    ranks = np.array(found)
    n = len(ranks)
    if ranks.ndim != 1:
        order = order_of(found, constant(reverse))
        return [items[order[i]] for i in range(n)]
    if np.any(ranks != ranks):
        raise ValueError("sorted() of what is not a number has no order")
    order = np.argsort(ranks[::-1] if constant(reverse) else ranks, kind="stable")
    return [items[n - 1 - order[n - 1 - i] if constant(reverse) else order[i]] for i in range(n)]


def sorted_objects(a: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    items = list(a)
    order = order_of(items, constant(reverse))
    return [items[order[i]] for i in range(len(items))]


def reduced(function: Any, a: Any, initial: Any = _NOTHING, /) -> Any:
    if initial is _NOTHING:
        if len(a) == 0:
            raise TypeError("reduce() of empty iterable with no initial value")
        total = a[0]
        for i in range(1, len(a)):
            total = function(total, a[i])
        return total
    total = initial
    for x in a:
        total = function(total, x)
    return total


def from_items(iter: Any, dtype: Any, count: Any = -1) -> Any:
    found = np.array(list(iter), dtype)
    if count != -1:
        if len(found) < count:
            raise ValueError("iterator too short")
        return found[:count].copy()
    return found


def vectorised(function: Any, types: Any, *args: Any) -> Any:
    """The result of ``np.vectorize(function)`` on the arguments."""
    operands = np.broadcast_arrays(*[np.atleast_1d(a) for a in args])
    shape = np.broadcast_shapes(*[np.shape(a) for a in args])
    n = operands[0].size
    if types is None and n == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    items = [x.ravel() for x in operands]
    found = np.array([function(*[x[i].item() for x in items]) for i in range(n)])
    if found.ndim != 1:
        unsupported("np.vectorize() of a function of several results is not supported", "vectorise one for each result")
    if types is not None:
        found = found.astype(types)
    return found.reshape(shape)


@stands_for("numpy.ndarray.tolist")
def as_list(a: Any) -> Any:
    if a.ndim == 0:
        return a.item()
    if a.ndim != 1:
        unsupported(
            "tolist() of an array of more than one dimension is not supported",
            "leave it out: an array is subscripted and gone through as a list of lists is",
        )
    return [x.item() for x in a]
