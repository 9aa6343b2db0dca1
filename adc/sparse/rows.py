"""Matrices whose rows are alike: from the results of sweeps to the data of a CSR array, without a step in between.

Where arguments have one row per camera or per point (see ``together.py``), the rows of a result usually have equally
many entries, and their sweeps are the same in each row. Then the data of these rows is the matrix of the results of the
sweeps, transposed. It is written, and checked against the sweep along the probe, by code that adc compiles itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from adc.functions.decorator import jit_grad
from adc.functions.jacobians import Output
from adc.ir.lazy_dataclass import dataclass
from adc.sparse.colouring import Colouring
from adc.sparse.memory import Memory

NDArray = np.ndarray[Any, Any]

LARGE = 1 << 15  # from so many entries on, compiled code saves more than it costs


def interleave(parts: Any, data: Any) -> None:
    """Store numbers that belong to one row one after the other."""
    for r in range(len(data)):
        for j, part in enumerate(parts):
            data[r, j] = part[r]


def departures(parts: Any, weights: Any, along: Any, tolerance: float) -> int:
    """The number of rows whose weighted sum is not ``along``, relative to the sum."""
    found = 0
    for r in range(len(along)):
        product = 0.0
        for j, part in enumerate(parts):
            product += part[r] * weights[j, r]
        found += not abs(product - along[r]) <= tolerance * abs(product)
    return found


@cache
def _compiled(function: Callable[..., Any], width: int) -> Callable[..., Any]:
    """Code for rows of one width: calls whose types are those of the last call are faster."""
    return jit_grad(threads=1)(function)


@dataclass(frozen=True, eq=False)
class Alike:
    """The rows of a result, which have entries from the same sweeps."""

    position: int  # of the result
    sweeps: tuple[int, ...]  # that the entries of a row are read from
    entries: slice  # in the data of the matrix
    weights: NDArray | None  # the probe, for each entry of a row and each row; None if nothing is checked

    def store(self, found: Sequence[dict[int, Any]], data: NDArray, tolerance: float) -> bool:
        """Store the entries, from the results of all sweeps; return whether they agree with that along the probe."""
        parts = tuple(found[sweep][self.position].reshape(-1) for sweep in self.sweeps)
        _compiled(interleave, len(parts))(parts, data[self.entries].reshape(-1, len(parts)))
        if self.weights is None:
            return True
        along = found[-1].get(self.position)
        if along is None:
            return False
        return not _compiled(departures, len(parts))(parts, self.weights, along.reshape(-1), tolerance)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of all results."""

    results: tuple[Alike, ...]

    def data(
        self, found: Sequence[dict[int, Any]], memory: Memory, dtype: Any, tolerance: float
    ) -> tuple[NDArray, bool] | None:
        """The data of a CSR array, and whether it agrees with the sweep along the probe; None if a sweep lacks a
        result."""
        if any(r.position not in found[sweep] for r in self.results for sweep in r.sweeps):
            return None
        data = memory.array((self.results[-1].entries.stop,), dtype)
        agree = [r.store(found, data, tolerance) for r in self.results]
        return data, all(agree)


def rows_alike(found: Colouring, outputs: Sequence[Output], probe: NDArray | None) -> Rows | None:
    """How the data of a large matrix is read from sweeps; None if rows differ, or the matrix is small."""
    if found.entries < LARGE or found.way != "forward":
        return None
    starts, results, at = found.pattern.starts, [], 0
    for o in outputs:
        count = math.prod(o.shape)
        begin, end = int(starts[at]), int(starts[at + count])
        widths = np.diff(starts[at : at + count + 1])
        at += count
        if not count:
            continue
        width = int(widths[0])
        if not o.shape or width == 0 or np.any(widths != width):
            return None
        sweeps = found.sweep_of[begin:end].reshape(-1, width)
        if np.any(sweeps != sweeps[0]):
            return None
        weights = None
        if probe is not None:
            weights = np.ascontiguousarray(probe[found.pattern.columns[begin:end]].reshape(-1, width).T, np.float32)
        results.append(Alike(o.leaf.position, tuple(sweeps[0].tolist()), slice(begin, end), weights))
    return Rows(tuple(results)) if results else None


def join(parts: Sequence[Any], shapes: Sequence[tuple[int, ...]], out: NDArray) -> None:
    """Concatenate arrays of these shapes in ``out``; missing ones become zeros."""
    at = 0
    for part, shape in zip(parts, shapes, strict=True):
        size = math.prod(shape)
        out[at : at + size].reshape(shape)[...] = 0 if part is None else part
        at += size
