"""Sparsity patterns found by propagating sets of dependences: 64 columns, or blocks of columns, in a sweep.

Columns are halved in blocks. Blocks that share no row can have the same bits in one sweep, since the row tells them
apart; so what is known of large blocks lets few sweeps divide all of them, and a pattern of n columns whose rows have
few entries takes some log(n) sweeps instead of n / 64.

Reference: Griewank and Mitev, Detecting Jacobian sparsity patterns by Bayesian probing, Math. Program. 93, 2002, find
patterns by dividing blocks too, of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adc.greedy import colour_columns, run
from adc.sparsity import Sparsity

IntArray = np.ndarray[Any, Any]
BITS = 64


def detect(count: int, propagate: Callable[[IntArray], IntArray], rows: int) -> tuple[Sparsity, int]:
    """The places where a result may depend on one of ``count`` inputs, and how many sweeps that took.

    ``propagate`` takes a word for each input and returns the unions for each of ``rows`` results.
    """
    width = max(count - 1, 0).bit_length()  # blocks have 2**width columns
    found = Sparsity(np.arange(rows), np.zeros(rows, np.int64), (rows, 1))
    sweeps = 0
    columns = np.arange(count)
    while count and rows:
        colour, used = _coloured(found)
        shift = _division(used, width)
        parts = 1 << shift  # of each block
        slots = BITS // parts  # colours in a sweep
        width -= shift
        own = colour[columns >> (width + shift)]
        at = (own % slots) * parts + ((columns >> width) & (parts - 1))
        bits = np.uint64(1) << at.astype(np.uint64)
        words = np.empty((-(-used // slots), rows), np.uint64)
        for sweep in range(len(words)):
            words[sweep] = propagate(np.where(own // slots == sweep, bits, np.uint64(0)).view(np.int64)).view(np.uint64)
        sweeps += len(words)
        mine = colour[found.columns]
        here = words[mine // slots, found.rows] >> ((mine % slots) * parts).astype(np.uint64)
        members = (here[:, None] >> np.arange(parts, dtype=np.uint64)) & np.uint64(1)
        entry, part = np.nonzero(members)
        blocks = -(-count // (1 << width))
        found = Sparsity(found.rows[entry], (found.columns[entry] << shift) + part, (rows, blocks))
        if width == 0:
            break
    return (found if count and rows else Sparsity(columns[:0], columns[:0], (rows, count))), sweeps


def _coloured(blocks: Sparsity) -> tuple[IntArray, int]:
    count = blocks.shape[1]
    if blocks.widest == count:
        return np.arange(count), count
    back = blocks.transposed
    steps = int(np.sum(np.diff(blocks.starts) ** 2))
    arrays = np.arange(count), blocks.starts, blocks.columns, back.starts, back.columns
    return run(colour_columns, steps, count, *arrays)


def _division(colours: int, width: int) -> int:
    """How often to halve blocks, for the fewest sweeps by halving."""
    most = max(min(width, 6), 0)
    if most == 0:
        return 0
    return min(range(1, most + 1), key=lambda shift: (-(-colours // (BITS >> shift)) / shift, -shift))
