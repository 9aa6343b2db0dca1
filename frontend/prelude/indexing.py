"""Functions of index arrays and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported


@stands_for("numpy.ndarray.nonzero")
def nonzero(a: Any) -> Any:
    return np.nonzero(a)


@stands_for("numpy.argwhere")
def argwhere(a: Any) -> Any:
    found = np.nonzero(a)
    places = np.empty((found[0].size, len(found)), np.int64)
    for k in range(len(found)):
        places[:, k] = found[k]
    return places


@stands_for("numpy.flatnonzero")
def flatnonzero(a: Any) -> Any:
    a = np.asarray(a)
    found = np.nonzero(a)
    flat = found[0]
    for k in range(1, a.ndim):
        flat = flat * a.shape[k] + found[k]
    return flat


def _in_range(k: Any, n: Any, mode: Any) -> Any:
    """Subscripts into ``n`` elements according to ``mode``; those for "raise" are checked where they are used."""
    if constant(mode) == "wrap":
        return k % n
    if mode == "clip":
        return np.minimum(np.maximum(k, 0), n - 1)
    return k


def _subscripts(k: Any, shape: Any) -> Any:
    """The subscripts, in each dimension, of the ``k``th elements of all."""
    if len(shape) == 1:
        return (k,)
    return (*_subscripts(k // shape[-1], shape[:-1]), k % shape[-1])


def _places(k: Any, shape: Any, size: Any) -> Any:
    """Flat subscripts converted to subscripts into each dimension, with a check."""
    if len(shape) == 1:
        return (k,)
    if np.size(k) > 0:
        low, high = np.min(k), np.max(k)
        if low < -size:
            raise IndexError(f"index {low} is out of bounds for axis 0 with size {size}")
        if high >= size:
            raise IndexError(f"index {high} is out of bounds for axis 0 with size {size}")
    k = np.where(k < 0, k + size, k)
    return _subscripts(k, shape)


def _flat(a: Any) -> Any:
    return a if a.ndim == 1 else np.ravel(a)


@stands_for("numpy.take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    a = np.asarray(a)
    k = indices if np.ndim(indices) == 0 else np.asarray(indices)
    axis = constant(axis)
    if axis is None:
        result = a[_places(_in_range(k, a.size, mode), a.shape, a.size)]
    else:
        result = a[(slice(None),) * (axis % a.ndim) + (_in_range(k, a.shape[axis], mode),)]
    if out is None:
        return result
    out[...] = result
    return out


@stands_for("numpy.put")
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    k = _flat(np.asarray([ind]) if np.ndim(ind) == 0 else np.asarray(ind))
    places = _places(_in_range(k, a.size, mode), a.shape, a.size)
    if np.ndim(v) == 0:
        a[places] = v
        return
    values = _flat(np.asarray(v))
    if values.size > 0:
        a[places] = values[np.arange(k.size) % values.size]


@stands_for("numpy.compress")
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    return np.take(a, np.flatnonzero(condition), axis, out)


@stands_for("numpy.ndarray.compress")
def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return np.take(a, np.flatnonzero(condition), axis, out)


@stands_for("numpy.extract")
def extract(condition: Any, arr: Any) -> Any:
    return np.take(arr, np.flatnonzero(condition))


@stands_for("numpy.place")
def place(arr: Any, mask: Any, vals: Any) -> None:
    if np.ndim(vals) == 0:
        arr[mask != 0] = vals
        return
    where = np.nonzero(mask)
    values = _flat(np.asarray(vals))
    if values.size > 0:
        arr[where] = values[np.arange(where[0].size) % values.size]
    elif where[0].size > 0:
        raise ValueError("Cannot insert from an empty array!")


@stands_for("numpy.putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    if np.ndim(values) == 0:
        a[mask != 0] = values
        return
    values = np.asarray(values)
    if values.ndim == a.ndim and values.shape == a.shape:
        chosen = mask != 0
        a[chosen] = values[chosen]
        return
    flat = _flat(values)
    if flat.size > 0:
        a[np.nonzero(mask)] = flat[np.flatnonzero(mask) % flat.size]


@stands_for("numpy.choose")
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if not isinstance(choices, (tuple, list)) or out is not None:
        unsupported("np.choose() takes an array and a list of choices", "use np.take_along_axis")
    a = np.asarray(a)
    n = len(choices)
    k = _in_range(a, n, mode)
    if constant(mode) == "raise" and (np.any(k < 0) or np.any(k >= n)):
        raise ValueError("invalid entry in choice array")
    if n == 1:
        return np.where(k == 0, choices[0], choices[0])
    return np.select([k == i for i in range(n - 1)], choices[:-1], choices[-1])


@stands_for("numpy.copyto")
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if constant(casting) != "same_kind":
        unsupported("np.copyto() with another casting is not supported", "convert the source with .astype first")
    np.positive(src, out=dst, where=where)


@stands_for("numpy.piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    listed = isinstance(condlist, (tuple, list))
    if (listed or np.ndim(condlist) > 0) and len(condlist) == 0:
        raise IndexError("list index out of range" if listed else "index 0 is out of bounds for axis 0 with size 0")
    if listed:  # a list of bools is one condition on the points
        several = np.ndim(x) == 0 or isinstance(condlist[0], (list, np.ndarray))
    else:
        several = np.ndim(condlist) > min(np.ndim(x), 1)
    conditions = condlist if several else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = np.zeros_like(x)
    rest = np.ones(np.shape(conditions[0]), bool)
    for k in range(len(funclist)):
        if k < len(conditions):
            chosen = np.asarray(conditions[k])
            rest = ~chosen & rest
        else:
            chosen = rest
        if callable(funclist[k]):
            result[chosen] = funclist[k](x[chosen], *args, **kw)
        else:
            result[chosen] = funclist[k]
    return result
