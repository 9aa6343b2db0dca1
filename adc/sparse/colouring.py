"""Colourings of sparse matrices: which columns, or rows, share a sweep, and from which sweep each entry is read.

Columns that share no row can be summed (Curtis, Powell and Reid, 1974), and so can rows that share no column. A
symmetric matrix needs fewer sums: in a star colouring each entry is alone either in the sum for its column's colour or,
transposed, in that for its row's colour (Coleman and Moré, Estimation of sparse Hessian matrices and graph coloring
problems, Math. Program. 28, 1984). The pattern of a stencil is periodic on its grid, and its colours can be, too:
``(a i + b j + ...) mod p`` often needs as few colours as possible (Goldfarb and Toint, Optimal estimation of Jacobian
and Hessian matrices that arise in finite difference calculations, Math. Comp. 43, 1984).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from adc.ir.lazy_dataclass import dataclass
from adc.sparse.greedy import colour_columns, colour_stars, run
from adc.sparse.sparsity import Sparsity

IntArray = np.ndarray[Any, Any]
Way = Literal["forward", "reverse", "symmetric"]

_MOST_LATTICES = 4096  # most combinations of coefficients that are tried for a number of colours
_SAMPLE = 64  # rows for which a combination is checked first


@dataclass(frozen=True, eq=False)
class Colouring:
    """How a sparse Jacobian or Hessian is computed: its pattern, and which columns or rows share a sweep.

    ``way`` is "forward" (groups of columns), "reverse" (groups of rows) or "symmetric"; ``colours`` has the number of
    the group for each column or row; ``sweeps`` is how many there are. ``pattern`` is the sparsity pattern;
    ``detected`` says whether adc detected it, and ``detection_sweeps`` in how many sweeps.
    """

    pattern: Sparsity
    way: Way
    colours: IntArray
    sweeps: int
    detected: bool = False
    detection_sweeps: int = 0
    # For each entry, the sweep that it is read from, and the position in the result of that sweep.
    sweep_of: IntArray = field(repr=False, default_factory=lambda: np.zeros(0, np.int64))
    place_of: IntArray = field(repr=False, default_factory=lambda: np.zeros(0, np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @cached_property
    def places(self) -> IntArray:
        """The position of each entry in the concatenated results of all sweeps."""
        rows, columns = self.shape
        return self.sweep_of * (columns if self.way == "reverse" else rows) + self.place_of

    @property
    def entries(self) -> int:
        """The number of entries of the pattern."""
        return self.pattern.entries

    def __str__(self) -> str:
        rows, columns = self.shape
        how = {
            "forward": "forward sweeps, by groups of columns",
            "reverse": "reverse sweeps, by groups of rows",
            "symmetric": "forward sweeps over the gradient, by a star colouring",
        }[self.way]
        known = f"detected in {self.detection_sweeps} sweeps" if self.detected else "given"
        return f"{rows} x {columns} with {self.entries} entries ({known}): {self.sweeps} {how}"


def of_columns(pattern: Sparsity, shapes: Sequence[tuple[int, ...]]) -> tuple[IntArray, int]:
    """The colours of columns, which are the elements of arrays of these shapes, in order; and the number of colours."""
    count = pattern.shape[1]
    if pattern.widest == count:
        return np.arange(count), count
    back = pattern.transposed
    widths = np.diff(pattern.starts)
    shared = np.bincount(pattern.columns, widths[pattern.rows], minlength=count)
    steps = int(np.sum(widths**2))
    best: tuple[IntArray, int] | None = None
    for order in (np.arange(count), np.argsort(-shared, kind="stable")):
        found = run(colour_columns, steps, count, order, pattern.starts, pattern.columns, back.starts, back.columns)
        if best is None or found[1] < best[1]:
            best = found
        if best[1] == pattern.widest:
            return best
    assert best is not None
    return _by_lattice(pattern, shapes, best[1]) or best


def _by_lattice(pattern: Sparsity, shapes: Sequence[tuple[int, ...]], limit: int) -> tuple[IntArray, int] | None:
    """A colouring with fewer than ``limit`` colours that is periodic along the axes of arrays of one shape; None if
    there is none."""
    if len(set(shapes)) != 1 or pattern.entries == 0:
        return None
    grid = (len(shapes), *shapes[0])
    places = np.stack(np.unravel_index(np.arange(pattern.shape[1]), grid))
    widths = np.diff(pattern.starts)
    sample = np.argsort(-widths, kind="stable")[:_SAMPLE]
    few = np.isin(pattern.rows, sample)
    sampled = pattern.rows[few], pattern.columns[few]
    for p in range(pattern.widest, limit):
        for coefficients in _coefficients(p, grid):
            colour = np.array(coefficients) @ places % p
            if _apart(*sampled, colour, p) and _apart(pattern.rows, pattern.columns, colour, p):
                # There may be fewer elements along an axis than colours.
                used, named = np.unique(colour, return_inverse=True)
                return named, len(used)
    return None


def _coefficients(p: int, grid: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Coefficients for the axes. Along the last axis with more than one element the coefficient is 1."""
    axes = [k for k, n in enumerate(grid) if n > 1]
    if p ** max(len(axes) - 1, 0) > _MOST_LATTICES:
        return
    for chosen in product(range(p), repeat=max(len(axes) - 1, 0)):
        found = dict(zip(axes, (*chosen, 1), strict=True))
        yield tuple(found.get(k, 0) for k in range(len(grid)))


def _apart(rows: IntArray, columns: IntArray, colour: IntArray, p: int) -> bool:
    """Whether the entries of each row have different colours."""
    keys = np.sort(rows * p + colour[columns])
    return not np.any(keys[1:] == keys[:-1])


def forward(pattern: Sparsity, shapes: Sequence[tuple[int, ...]]) -> Colouring:
    """A colouring of columns, which are the elements of arguments of these shapes."""
    colours, used = of_columns(pattern, shapes)
    return Colouring(pattern, "forward", colours, used, sweep_of=colours[pattern.columns], place_of=pattern.rows)


def reverse(pattern: Sparsity, shapes: Sequence[tuple[int, ...]]) -> Colouring:
    """A colouring of rows, which are the elements of results of these shapes."""
    colours, used = of_columns(pattern.transposed, shapes)
    return Colouring(pattern, "reverse", colours, used, sweep_of=colours[pattern.rows], place_of=pattern.columns)


def fewest(pattern: Sparsity, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> Colouring:
    """The colouring with fewer sweeps; with equal numbers forward mode, which needs no tape."""
    down, across = pattern.widest, pattern.transposed.widest
    if down <= across:
        first = forward(pattern, inputs)
        if first.sweeps <= across:
            return first
        return min(first, reverse(pattern, outputs), key=lambda way: way.sweeps)
    first = reverse(pattern, outputs)
    if first.sweeps < down:
        return first
    return min(forward(pattern, inputs), first, key=lambda way: way.sweeps)


def symmetric(pattern: Sparsity, shapes: Sequence[tuple[int, ...]]) -> Colouring:
    """A star colouring of a symmetric pattern with a full diagonal, or a colouring of columns if that needs fewer
    sweeps."""
    count = pattern.shape[0]
    widths = np.diff(pattern.starts)
    steps = int(np.sum(widths[pattern.rows] * widths[pattern.columns]))
    stars = (
        run(colour_stars, steps, count, order, pattern.starts, pattern.columns)
        for order in (np.arange(count), np.argsort(-widths, kind="stable"))
    )
    colours, used = min(stars, key=lambda found: found[1])
    by_columns = forward(pattern, shapes) if pattern.widest < used else None
    if by_columns is not None and by_columns.sweeps < used:
        return by_columns
    # An entry is read from the sweep of its column if no other entry of its row has that colour. Otherwise the colour
    # of its row is unique in its column, and the transposed entry is read.
    keys = pattern.rows * max(used, 1) + colours[pattern.columns]
    _, named, counts = np.unique(keys, return_inverse=True, return_counts=True)
    alone = counts[named] == 1
    sweep_of = np.where(alone, colours[pattern.columns], colours[pattern.rows])
    place_of = np.where(alone, pattern.rows, pattern.columns)
    return Colouring(pattern, "symmetric", colours, used, sweep_of=sweep_of, place_of=place_of)
