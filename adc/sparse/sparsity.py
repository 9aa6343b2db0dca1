"""Sparsity patterns: the places of a matrix whose entries may differ from zero."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass

IntArray = np.ndarray[Any, Any]
FloatArray = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Sparsity:
    """The places of a matrix whose entries may differ from zero: each once, sorted by rows and then by columns."""

    rows: IntArray
    columns: IntArray
    shape: tuple[int, int]

    @staticmethod
    def of(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Sparsity:
        """The pattern with these places, which may be in any order and repeated."""
        places = np.unique(rows.astype(np.int64) * max(shape[1], 1) + columns)
        rows, columns = np.divmod(places, max(shape[1], 1))
        return Sparsity(rows, columns, shape)

    @property
    def entries(self) -> int:
        return len(self.rows)

    @cached_property
    def starts(self) -> IntArray:
        """The start of each row, and the end."""
        counts = np.bincount(self.rows, minlength=self.shape[0])
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    @cached_property
    def indices(self) -> tuple[IntArray, IntArray]:
        """The columns and the starts as in SciPy's matrices: with 32 bits where that is enough."""
        small = max(self.entries, *self.shape) <= np.iinfo(np.int32).max
        kind = np.int32 if small else np.int64
        return self.columns.astype(kind), self.starts.astype(kind)

    @cached_property
    def transposed(self) -> Sparsity:
        order = np.argsort(self.columns, kind="stable")
        return Sparsity(self.columns[order], self.rows[order], (self.shape[1], self.shape[0]))

    @property
    def widest(self) -> int:
        """The largest number of entries in a row, a lower bound for the number of colours of the columns."""
        return int(np.max(np.diff(self.starts), initial=0))

    def union(self, other: Sparsity) -> Sparsity:
        both = np.concatenate([self.rows, other.rows]), np.concatenate([self.columns, other.columns])
        return Sparsity.of(*both, self.shape)

    def symmetric(self) -> Sparsity:
        """The pattern with the transposed places, and the diagonal, added."""
        n = self.shape[0]
        rows = np.concatenate([self.rows, self.columns, np.arange(n)])
        return Sparsity.of(rows, np.concatenate([self.columns, self.rows, np.arange(n)]), self.shape)


def given_sparsity(pattern: Any, shape: tuple[int, int], what: str) -> Sparsity:
    """The pattern given by a user for a matrix of a shape: a SciPy matrix, a boolean array, or a pair of arrays of row
    and column numbers. Raises ``ArgumentError`` for anything else, ``ShapeError`` for another shape.
    """
    if hasattr(pattern, "tocoo"):
        made = pattern.tocoo()
        _check_shape(made.shape, shape, what)
        return Sparsity.of(np.asarray(made.row), np.asarray(made.col), shape)
    if isinstance(pattern, tuple) and len(pattern) == 2:
        rows, columns = (np.asarray(part) for part in pattern)
        numbers = all(a.ndim == 1 and (a.dtype.kind in "iu" or not a.size) for a in (rows, columns))
        if not numbers or len(rows) != len(columns):
            raise _wrong(f"the pattern of {what} is a pair, but not of two index arrays of one length")
        for named, count, name in ((rows, shape[0], "row"), (columns, shape[1], "column")):
            bad = named[(named < 0) | (named >= count)]
            if bad.size:
                raise _wrong(f"the pattern of {what} names {name} {bad[0]}, and there are {count}")
        return Sparsity.of(rows, columns, shape)
    if isinstance(pattern, np.ndarray) and pattern.dtype == np.bool_:
        _check_shape(pattern.shape, shape, what)
        rows, columns = np.nonzero(pattern)
        return Sparsity.of(rows, columns, shape)
    raise _wrong(f"the pattern of {what} is a {type(pattern).__name__}")


def disagreement(matrix: Any, direction: FloatArray, along: FloatArray, precision: float) -> int | None:
    """The row where a matrix times a direction differs most from ``along``, by more than the square root of the
    precision; None if there is none such."""
    with np.errstate(all="ignore"):
        wide = matrix.astype(np.float64, copy=False)
        product = wide @ direction
        if np.all(np.abs(product - along) <= np.sqrt(precision) * np.abs(product)):  # no more than what is allowed
            return None
        scale = abs(wide) @ abs(direction)
        allowed = np.sqrt(precision) * scale + 4 * precision * np.max(scale[np.isfinite(scale)], initial=0.0)
        excess = np.abs(product - along) - allowed
        finite = np.isfinite(product) & np.isfinite(along)
        wrong = np.where(finite, excess > 0, np.isfinite(product) != np.isfinite(along))
    if not np.any(wrong):
        return None
    return int(np.argmax(np.where(wrong, np.where(finite, excess, np.inf), -np.inf)))


def _check_shape(found: tuple[int, ...], wanted: tuple[int, int], what: str) -> None:
    if found != wanted:
        raise kinds.PATTERN_SHAPE(
            f"the pattern of {what} has shape {tuple(found)}, not {wanted}",
            help="rows are the numbers that are returned, columns those that are differentiated by",
        )


def _wrong(message: str) -> Exception:
    return kinds.WRONG_PATTERN(
        message, help="pass a SciPy sparse matrix, a boolean array, or a pair of arrays of row and column numbers"
    )
