"""Detects sparsity patterns by propagating sets of dependences, for 64 columns, or blocks of columns, per sweep.

Blocks of columns are halved again and again. Blocks that share no row can use the same bits in one sweep, since the row
tells them apart. So the pattern of large blocks allows few sweeps to divide all of them, and a pattern of n columns
whose rows have few entries takes about log(n) sweeps instead of n / 64.

Reference: Griewank and Mitev, Detecting Jacobian sparsity patterns by Bayesian probing, Math. Program. 93, 2002, who
also divide blocks, but probe derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adc.ir.lazy_dataclass import dataclass
from adc.sparse.greedy import colour_columns, run
from adc.sparse.sparsity import Sparsity

IntArray = np.ndarray[Any, Any]
BITS = 64


Propagate = Callable[[IntArray], IntArray]


@dataclass(frozen=True, eq=False)
class Detection:
    """A pattern, and the sweeps that found it: the input words and the output words of each."""

    pattern: Sparsity
    sweeps: list[tuple[IntArray, IntArray]]

    def covers(self, propagate: Propagate) -> bool:
        """Whether the pattern contains all dependences of a program.

        The first sweeps show that there are none outside of the known large blocks, so that the next ones can
        distinguish parts of these blocks.
        """
        return not any(np.any(propagate(words) & ~known) for words, known in self.sweeps)


def detection_of(pattern: Sparsity) -> Detection:
    """The sweeps that would find a known pattern."""
    some = np.flatnonzero(np.diff(pattern.starts))

    def propagate(words: IntArray) -> IntArray:
        made = np.zeros(pattern.shape[0], np.int64)
        if some.size:
            made[some] = np.bitwise_or.reduceat(words[pattern.columns], pattern.starts[some])
        return made

    return detect(pattern.shape[1], propagate, pattern.shape[0])


def detect(count: int, propagate: Propagate, rows: int) -> Detection:
    """Detect which results may depend on which of ``count`` inputs.

    ``propagate`` takes a word for each input, and returns for each of ``rows`` results the union of the words that it
    depends on.
    """
    width = max(count - 1, 0).bit_length()  # blocks have 2**width columns
    found = Sparsity(np.arange(rows), np.zeros(rows, np.int64), (rows, 1))
    sweeps: list[tuple[IntArray, IntArray]] = []
    columns = np.arange(count)
    while count and rows:
        colour, used = _coloured(found)
        shift = _division(used, width)
        parts = 1 << shift  # parts of each block
        slots = BITS // parts  # colours in a sweep
        width -= shift
        own = colour[columns >> (width + shift)]
        at = (own % slots) * parts + ((columns >> width) & (parts - 1))
        bits = np.uint64(1) << at.astype(np.uint64)
        words = np.empty((-(-used // slots), rows), np.uint64)
        for sweep in range(len(words)):
            given = np.where(own // slots == sweep, bits, np.uint64(0)).view(np.int64)
            sweeps.append((given, propagate(given)))
            words[sweep] = sweeps[-1][1].view(np.uint64)
        mine = colour[found.columns]
        here = words[mine // slots, found.rows] >> ((mine % slots) * parts).astype(np.uint64)
        members = (here[:, None] >> np.arange(parts, dtype=np.uint64)) & np.uint64(1)
        entry, part = np.nonzero(members)
        blocks = -(-count // (1 << width))
        found = Sparsity(found.rows[entry], (found.columns[entry] << shift) + part, (rows, blocks))
        if width == 0:
            break
    return Detection(found if count and rows else Sparsity(columns[:0], columns[:0], (rows, count)), sweeps)


def _coloured(blocks: Sparsity) -> tuple[IntArray, int]:
    count = blocks.shape[1]
    if blocks.widest == count:
        return np.arange(count), count
    back = blocks.transposed
    steps = int(np.sum(np.diff(blocks.starts) ** 2))
    arrays = np.arange(count), blocks.starts, blocks.columns, back.starts, back.columns
    return run(colour_columns, steps, count, *arrays)


def _division(colours: int, width: int) -> int:
    """How often to halve blocks in one round, for the fewest sweeps per halving."""
    most = max(min(width, 6), 0)
    if most == 0:
        return 0
    return min(range(1, most + 1), key=lambda shift: (-(-colours // (BITS >> shift)) / shift, -shift))
