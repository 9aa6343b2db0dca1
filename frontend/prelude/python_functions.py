"""Python's own functions of arrays, which go through the items one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported


@stands_for("builtins.max")
def greatest(a: Any) -> Any:
    _need_vector(a, "max")
    if len(a) == 0:
        raise ValueError("max() iterable argument is empty")
    best = a[0]
    for i in range(1, len(a)):
        if a[i] > best:
            best = a[i]
    return best


@stands_for("builtins.min")
def least(a: Any) -> Any:
    _need_vector(a, "min")
    if len(a) == 0:
        raise ValueError("min() iterable argument is empty")
    best = a[0]
    for i in range(1, len(a)):
        if a[i] < best:
            best = a[i]
    return best


@stands_for("builtins.any")
def any_of(a: Any) -> Any:
    _need_vector(a, "any")
    return bool(np.any(a))


@stands_for("builtins.all")
def all_of(a: Any) -> Any:
    _need_vector(a, "all")
    return bool(np.all(a))


def _need_vector(a: Any, name: Any) -> None:
    if a.ndim != 1:
        unsupported(f"{name}() takes an array of one dimension", f"use np.{name}")


@stands_for("builtins.sum")
def sum_of_rows(a: Any, start: Any = 0) -> Any:
    total = start + np.zeros(a.shape[1:], a.dtype)
    for i in range(len(a)):
        total += a[i]
    return total


@stands_for("builtins.sorted")
def sorted_list(a: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    if not isinstance(a, np.ndarray):
        unsupported("sorted() takes an array here", "make an array of the numbers, and sort that: np.sort(np.array(x))")
    if key is not None:
        unsupported("sorted() with a key is not supported", "subscript with np.argsort of the keys")
    _need_vector(a, "sort")
    if np.any(a != a):
        raise ValueError("sorted() of what is not a number has no order")
    items = np.sort(a)
    found = []
    for i in range(len(items)):
        found.append(items[len(items) - 1 - i] if constant(reverse) else items[i])
    return found
