"""Methods of NumPy's functions of two numbers: such as ``np.add.reduce``."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported

REDUCTIONS = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}
TESTS = {"logical_and": np.all, "logical_or": np.any}
OTHERS = (
    *("subtract", "divide", "power", "floor_divide", "mod", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "logical_xor"),
)
_MESSAGE = "this method takes an array and an axis"
_HELP = "write the loop: s = function(s, x[i])"


def _front(a: Any, axis: Any) -> Any:
    """The array with the axis first."""
    axis = constant(axis)
    return np.transpose(a, [axis if k == 0 else k - 1 if k <= axis else k for k in range(a.ndim)])


def _back(a: Any, axis: Any) -> Any:
    """The array with its first axis moved back."""
    axis = constant(axis)
    return np.transpose(a, [k + 1 if k < axis else 0 if k == axis else k for k in range(a.ndim)])


def _kind(function: Any, short: Any, a: Any, dtype: Any) -> Any:
    """The dtype of the result: for sums and products it has more room, as in NumPy."""
    if dtype is not None:
        return np.dtype(constant(dtype))
    if short is not None:
        return np.result_type(short(np.zeros(1, a.dtype)))
    return function(np.zeros(1, a.dtype), np.zeros(1, a.dtype)).dtype


def _of(function: Any, short: Any) -> None:
    """Define the methods of one function; ``short`` is the named reduction of NumPy's, if there is one."""

    def reduce(
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if short is not None and dtype is not None:
            return short(array, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
        if short is not None and initial is not None:
            return short(array, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
        if short is not None:
            return short(array, axis=axis, out=out, keepdims=keepdims, where=where)
        if dtype is not None or initial is not None or where is not True:
            unsupported(_MESSAGE, _HELP)
        axis = constant(axis)
        if axis is None and array.ndim > 1:
            if function in (np.subtract, np.divide, np.power, np.floor_divide, np.mod):
                unsupported(_MESSAGE, _HELP)  # NumPy refuses it, too: the order matters
            moved = np.ravel(array)
        else:
            moved = _front(array, 0 if axis is None else axis % array.ndim)
        if len(moved) == 0:
            raise ValueError("zero-size array to a reduction operation that has no identity")
        if moved.ndim == 1:
            found = moved[0]
            for i in range(1, len(moved)):
                found = function(found, moved[i])
        else:
            # In place: a new array for each step would cost more than a short function does with it.
            found = np.empty(np.shape(moved)[1:], _kind(function, short, array, None))
            found[...] = moved[0]
            for i in range(1, len(moved)):
                found[...] = function(found, moved[i])
        if constant(keepdims):
            found = np.reshape(found, (1,) * array.ndim) if moved.ndim == 1 else np.expand_dims(found, axis)
        if out is None:
            return found
        out[...] = found
        return out

    def accumulate(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        array = np.asarray(array)
        axis = constant(axis) % array.ndim
        moved = _front(array, axis)
        made = np.zeros(np.shape(moved), _kind(function, short, array, dtype))
        if len(moved) > 0:
            made[0] = moved[0]
        for i in range(1, len(moved)):
            made[i] = function(made[i - 1], moved[i])
        found = _back(made, axis)
        if out is None:
            return found.copy() if axis else found
        out[...] = found
        return out

    def outer(A: Any, B: Any, /, *, out: Any = None) -> Any:
        spread = (...,) + (None,) * np.ndim(B)
        if out is None:
            return function(np.asarray(A)[spread] if np.ndim(A) else A, B)
        return function(np.asarray(A)[spread] if np.ndim(A) else A, B, out=out)

    def reduceat(array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        array = np.asarray(array)
        axis = constant(axis) % array.ndim
        moved = _front(array, axis)
        extents = [len(indices) if k == 0 else moved.shape[k] for k in range(array.ndim)]
        made = np.zeros(tuple(extents), _kind(function, short, array, dtype))
        for k in range(len(indices)):
            start = indices[k]
            if not 0 <= start < len(moved):
                raise IndexError("an index of reduceat is out of bounds")
            stop = len(moved)
            if k + 1 < len(indices):
                stop = max(indices[k + 1], start + 1)
            made[k] = moved[start]
            for i in range(start + 1, stop):
                made[k] = function(made[k], moved[i])
        found = _back(made, axis)
        if out is None:
            return found.copy() if axis else found
        out[...] = found
        return out

    for method in (reduce, accumulate, outer, reduceat):
        stands_for(f"numpy.{function.__name__}.{method.__name__}")(method)


for _name, _short in {**REDUCTIONS, **TESTS, **dict.fromkeys(OTHERS)}.items():
    _of(getattr(np, _name), _short)
