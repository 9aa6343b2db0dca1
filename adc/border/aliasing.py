"""Arguments that overlap in memory: which ones overlap, and copies and shadows with the same overlaps."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass

NDArray = np.ndarray[Any, Any]


def byte_bounds(array: NDArray) -> tuple[int, int]:
    """The addresses of the first byte of ``array`` and of the first byte after it; equal if it is empty."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides):
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + array.itemsize


def groups(arrays: Mapping[int, NDArray], families: Mapping[int, object] = {}) -> dict[int, int]:
    """A group number for each array that overlaps another one; arrays that do not overlap are not in the result.

    Arrays count as overlapping if their address ranges overlap, and transitively. But arrays that are all of one
    family, by ``families``, are fields of a structured array and share no element. Groups are numbered by their first
    member in the order of ``arrays``, so that equal patterns have equal numbers.
    """
    if len(arrays) < 2:
        return {}
    spans = sorted((*byte_bounds(array), key) for key, array in arrays.items() if array.size)
    clusters: list[list[int]] = []
    end = -1
    for low, high, key in spans:
        if low < end:
            clusters[-1].append(key)
        else:
            clusters.append([key])
        end = max(end, high)
    found: dict[int, int] = {}
    order = {key: n for n, key in enumerate(arrays)}
    several = [c for c in clusters if len({families.get(key, (key,)) for key in c}) > 1]
    shared = sorted((sorted(c, key=order.__getitem__) for c in several), key=lambda c: order[c[0]])
    for number, cluster in enumerate(shared):
        found.update((key, number) for key in cluster)
    return found


def joined(arrays: Mapping[int, NDArray], written: Container[int]) -> list[list[int]]:
    """The arrays that share elements with an array that is written, in groups without common elements."""
    groups: list[list[int]] = []
    for w, first in arrays.items():
        if w in written:
            group = [w, *(k for k, array in arrays.items() if k != w and share_elements(first, array))]
            meeting = [g for g in groups if not set(g).isdisjoint(group)]
            groups = [g for g in groups if g not in meeting]
            groups.append(sorted({k for g in (group, *meeting) for k in g}))
    return groups


def share_elements(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays share memory; True where it is too hard to find out."""
    try:
        return bool(np.shares_memory(a, b, 10_000))  # type: ignore[arg-type]  # any bound is allowed
    except np.exceptions.TooHardError:
        return True


@dataclass(frozen=True)
class Backing:
    """The memory that a group of overlapping arrays spans: bytes from address ``low`` up to ``high``."""

    low: int
    high: int

    def view(self, of: NDArray, buffer: NDArray) -> NDArray:
        """The window on ``buffer`` at the place that ``of`` has in the span."""
        offset = of.__array_interface__["data"][0] - self.low
        return np.ndarray(of.shape, of.dtype, buffer.data, offset, of.strides)


def span(arrays: Sequence[NDArray]) -> Backing:
    bounds = [byte_bounds(array) for array in arrays if array.size]
    return Backing(min(low for low, _ in bounds), max(high for _, high in bounds))


def laid_out_alike(arrays: Mapping[int, NDArray], *, copy: bool, names: Mapping[int, str]) -> dict[int, NDArray]:
    """New arrays that overlap each other just as ``arrays`` (one group) do: with their contents, or zeros.

    Raises ``ArgumentError`` for arrays whose elements overlap in part, or are of different dtypes.
    """
    first = next(iter(arrays.values()))
    for key, array in arrays.items():
        offset = array.__array_interface__["data"][0] - first.__array_interface__["data"][0]
        if array.dtype != first.dtype or offset % first.itemsize:
            raise kinds.OVERLAPPING_ARGUMENTS(
                f"arguments {names[next(iter(arrays))]} and {names[key]} share memory as different kinds of number",
                help="pass a copy of one of them",
            )
    backing = span(list(arrays.values()))
    # Whole elements of the dtype, so that the buffer has the alignment of the dtype.
    buffer = np.zeros(-(-(backing.high - backing.low) // first.itemsize), first.dtype)
    views = {key: backing.view(array, buffer) for key, array in arrays.items()}
    if copy:
        for key, array in arrays.items():
            np.copyto(views[key], array)
    return views


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], layout: Literal["C", "F", "inner", "any"]) -> NDArray:
    """An array of zeros whose layout is exactly ``layout``, as compiled code may require."""
    if layout in ("C", "F"):
        return np.zeros(shape, dtype, layout)
    *outer, last = shape
    if layout == "inner":
        return np.zeros((*outer, last + 1), dtype)[..., :-1]
    return np.zeros((*outer, 2 * last), dtype)[..., ::2]


def overlaps_itself(array: NDArray) -> bool:
    """Whether two elements of ``array`` may share memory (as in a broadcast or windowed view)."""
    if array.size == 0:
        return False
    dims = sorted((abs(stride), extent) for extent, stride in zip(array.shape, array.strides) if extent > 1)
    reach = array.itemsize
    for stride, extent in dims:
        if stride < reach:
            return True
        reach = stride * (extent - 1) + reach
    return False
