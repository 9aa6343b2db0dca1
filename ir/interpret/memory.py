"""The interpreter's memory: NumPy arrays for memrefs, with every access checked.

A wrong access is a fault of the compiler, not of the user's program, so it raises ``InterpreterError`` wherever
compiled code would have touched memory that it must not touch: subscripts out of range, memory that was freed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from adc.ir.evaluate.evaluate import normal
from adc.ir.types import FloatType, IntType, MemRefType, Type, f64

Array = np.ndarray[Any, Any]


class InterpreterError(AssertionError):
    """The IR does what it must not do: a fault of the compiler."""


class _Undefined:
    """The value of ``adc.undef``: it may be passed on, but never computed with."""

    def __repr__(self) -> str:
        return "undef"


UNDEF = _Undefined()


def defined(values: Iterable[Any]) -> None:
    """Raise if one of the values, which are computed with, is not defined."""
    for value in values:
        if value is UNDEF:
            raise InterpreterError("computes with an undefined value")


def dtype_of(element: Type) -> np.dtype[Any]:
    """The NumPy type of a memref's elements; memrefs and records are objects."""
    if isinstance(element, FloatType):
        return np.dtype(f"f{element.width // 8}")
    if isinstance(element, IntType):
        return np.dtype(np.bool_ if element.width == 1 else f"{'u' if element.unsigned else 'i'}{element.width // 8}")
    return np.dtype(np.int64) if element.is_integer else np.dtype(object)


def poison(element: Type) -> Any:
    """The content of memory that nothing was stored to: NaN, or a conspicuous integer."""
    if isinstance(element, FloatType):
        return math.nan
    if isinstance(element, IntType) and element.width == 1:
        return True
    return normal(0x5EADBEEF, element) if element.is_integer else UNDEF


def check(value: Any, t: Type, what: str) -> Any:
    """``value`` in the form of type ``t``; raises unless it is of that type. ``what`` names it in the message."""
    if value is UNDEF:
        return value
    if not isinstance(t, MemRefType):
        return normal(value, t)
    if not isinstance(value, np.ndarray) or value.dtype != dtype_of(t.element) or value.ndim != t.rank:
        shown = f"{value.dtype} of rank {value.ndim}" if isinstance(value, np.ndarray) else repr(value)
        raise InterpreterError(f"{what} of type {t} is {shown}")
    if any(extent not in (None, n) for extent, n in zip(t.shape, value.shape, strict=True)):
        raise InterpreterError(f"{what} of type {t} has shape {value.shape}")
    if value.size:
        strides = [s // value.itemsize for s in value.strides]
        wanted = t.strides if t.strides is not None else _contiguous(value.shape)
        for extent, stride, want in zip(value.shape, strides, wanted, strict=True):
            if extent > 1 and want not in (None, stride):
                raise InterpreterError(f"{what} of type {t} has strides {strides}")
    return value


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))[-len(shape) or 1 :]


def _root(array: Array) -> Array:
    """The array that holds the memory."""
    root: Array = array if array.base is None else array.base
    return root


class Memory:
    """Allocations of one run: which are live, and how many bytes they take now and took at most."""

    def __init__(self) -> None:
        self._live: dict[int, Array] = {}
        self._freed: set[int] = set()
        self.live_bytes = 0
        self.peak_bytes = 0
        self.allocations = 0

    def _new(self, shape: Sequence[int], element: Type) -> Array:
        if any(n < 0 for n in shape):
            raise InterpreterError(f"memref of negative extent: {tuple(shape)}")
        array = np.full(shape, poison(element), dtype_of(element))
        self._freed.discard(id(array))
        return array

    def alloc(self, shape: Sequence[int], element: Type) -> Array:
        array = self._new(shape, element)
        self._live[id(array)] = array
        self.allocations += 1
        self._took(array.nbytes)
        return array

    def _took(self, size: int) -> None:
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)

    def undefined(self, t: MemRefType) -> Array:
        """A memref of extent zero."""
        return self._new((0,) * t.rank, t.element)

    def pack(self, values: Sequence[Any]) -> list[Any]:
        """A record, as a list that is emptied when it is released."""
        self._took(8 * len(values))
        return list(values)

    def release(self, record: list[Any]) -> None:
        self.live_bytes -= 8 * len(record)
        record.clear()

    def free(self, array: Array) -> None:
        """Free memory by the memref that was allocated, or by another shape of it."""
        root = _root(self.live(array))
        whole = array.size == root.size and array.flags.c_contiguous
        if id(root) not in self._live or not whole:
            raise InterpreterError("frees memory that was not allocated here, or a part of it")
        del self._live[id(root)]
        self._freed.add(id(root))
        self.live_bytes -= root.nbytes

    def live(self, array: Any) -> Array:
        """``array`` itself, which must be a memref whose memory was not freed."""
        if not isinstance(array, np.ndarray):
            raise InterpreterError(f"{array!r} is used as a memref")
        if self._freed and id(_root(array)) in self._freed:
            raise InterpreterError("memory is used after it was freed")
        return array

    def load(self, array: Array, at: tuple[int, ...], element: Type) -> Any:
        self._check_subscripts(self.live(array), at)
        value = array.item(*at)
        return value if type(value) is float and element == f64 else normal(value, element)

    def store(self, value: Any, array: Array, at: tuple[int, ...], element: Type) -> None:
        self._check_subscripts(self.live(array), at)
        array[at] = poison(element) if value is UNDEF else value

    def _check_subscripts(self, array: Array, at: tuple[int, ...]) -> None:
        for i, extent in zip(at, array.shape, strict=True):
            if not 0 <= i < extent:
                raise InterpreterError(f"subscript {at} outside an array of shape {array.shape}")

    def copy(self, source: Array, target: Array) -> None:
        if self.live(source).shape != self.live(target).shape:
            raise InterpreterError(f"copy from shape {source.shape} to {target.shape}")
        if np.shares_memory(source, target):
            raise InterpreterError("copy between memrefs that overlap")
        target[...] = source

    def add_product(self, left: Array, right: Array, target: Array, strong: str) -> None:
        depth = self.live(left).shape[1]
        wanted = left.shape[0], self.live(right).shape[1]
        if right.shape[0] != depth or self.live(target).shape != wanted:
            raise InterpreterError(f"adds a product of shapes {left.shape} and {right.shape} to {target.shape}")
        if np.shares_memory(left, target) or np.shares_memory(right, target):
            raise InterpreterError("adds a product to memory that it is made of")
        for k in range(depth):
            a, b = left[:, k : k + 1], right[k : k + 1]
            nothing = a == 0 if strong == "left" else b == 0 if strong == "right" else False
            target += np.where(nothing, 0, a * b)

    def fill(self, value: Any, array: Array, element: Type) -> None:
        self.live(array)[...] = poison(element) if value is UNDEF else value

    def grow(self, array: Array, i: int, element: Type) -> Array:
        """A buffer with room for index ``i`` that starts with the contents of ``array``, which is freed."""
        if i < 0:
            raise InterpreterError(f"grows a buffer to index {i}")
        if i < self.live(array).shape[0]:
            return array
        larger = self.alloc((max(2 * array.shape[0], i + 1),), element)
        larger[: array.shape[0]] = array
        if id(array) in self._live:
            self.free(array)
        return larger


def subview(
    array: Array, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int], dropped: Sequence[int]
) -> Array:
    """The window of ``sizes`` elements from ``offsets``, ``steps`` apart, without the dimensions ``dropped``."""
    index: list[slice | int] = []
    for k, (offset, size, step) in enumerate(zip(offsets, sizes, steps, strict=True)):
        if size < 0 or (size > 1 and step == 0):
            raise InterpreterError(f"subview of size {size} and step {step}")
        last = offset + (size - 1) * step
        if size and not (0 <= offset < array.shape[k] and 0 <= last < array.shape[k]):
            raise InterpreterError(
                f"subview [{offset}:+{size}:{step}] outside dimension {k} of an array of shape {array.shape}"
            )
        if k in dropped:
            if size != 1:
                raise InterpreterError(f"subview drops dimension {k} of size {size}")
            index.append(offset)
        elif size == 0:
            index.append(slice(0, 0))
        elif size == 1:
            index.append(slice(offset, offset + 1))
        else:
            stop = last + (1 if step > 0 else -1)
            index.append(slice(offset, None if stop < 0 else stop, step))
    view: Array = array[(*index, ...)]
    return view


def reshape(array: Array, shape: Sequence[int], groups: Sequence[tuple[int, int]]) -> Array:
    """The same elements, with each group of dimensions reshaped to another."""
    old, new = iter(array.shape), iter(shape)
    for m, n in groups:
        before, after = [next(old) for _ in range(m)], [next(new) for _ in range(n)]
        if any(extent < 0 for extent in after) or (array.size and math.prod(before) != math.prod(after)):
            raise InterpreterError(f"reshapes dimensions {before} to {after}")
    view: Array = array.reshape(shape)
    if array.size and not np.shares_memory(array, view):
        raise InterpreterError(f"no view of shape {tuple(shape)} on an array of shape {array.shape}")
    return view


def window(array: Array, offset: int, extents: Sequence[int], strides: Sequence[int]) -> Array:
    """The elements of contiguous memory at ``offset`` and multiples of ``strides`` from there."""
    if any(extent < 0 for extent in extents):
        raise InterpreterError(f"window of negative extent: {tuple(extents)}")
    flat = array.reshape(-1)
    if 0 in extents:
        return np.lib.stride_tricks.as_strided(flat[:0], tuple(extents))
    ends = [(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)]
    first, last = offset + sum(min(end, 0) for end in ends), offset + sum(max(end, 0) for end in ends)
    if first < 0 or last >= flat.size:
        raise InterpreterError(f"window from {first} to {last} of {flat.size} elements")
    return np.lib.stride_tricks.as_strided(flat[offset:], tuple(extents), [s * array.itemsize for s in strides])
