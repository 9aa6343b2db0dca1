"""Sums over all elements on all ranks that do not depend on how these are distributed: ``adc.mpi.allsum``.

Sums of integers are the same in any order. So each element is cut into pieces of ``BITS`` bits, counted from the
largest element of all ranks; these are integers, and exact. Their sums are added over the ranks, and combined to one
float. The pieces reach 96 bits below the largest element: the rest is less than its last bit, for as many elements as
the integer sums have room for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import COLLECTIVE, messages, with_rules
from adc.frontend.prelude import stands_for
from adc.frontend.prelude.messages import _summed, has_derivatives, laid_out, summed

BITS, PIECES = 24, 4  # so at most 2**38 elements: each has BITS + 1 bits in the first piece


def total(x: Any, role: Any) -> Any:
    """The sum of all elements of all ranks, as an array of one element."""
    return _total(x, role)


def _total(x: Any, role: Any) -> Any:
    wide = x.astype(np.float64)
    exponent, special = _of_all(wide, role)
    found = np.full(1, special)
    if special == 0.0:
        pieces = _pieces(wide, exponent)
        sums = np.empty(PIECES, np.int64)
        messages.allreduce(pieces, sums, role)
        found[0] = _number(sums, exponent)
    return found.astype(x.dtype)


def _of_all(wide: Any, role: Any) -> Any:
    """The exponent of the largest element on all ranks, and the sum of the elements that are infinite or NaN, or
    zero."""
    finite = np.isfinite(wide)
    mine = np.zeros(2)
    mine[0] = np.max(np.abs(np.where(finite, wide, 0.0)), initial=0.0)
    mine[1] = np.sum(np.where(finite, 0.0, wide))
    all = np.empty(2 * messages.size())
    messages.allgather(mine, all, role)
    _, exponent = np.frexp(np.max(all[::2]))
    return int(exponent), np.sum(all[1::2])


def _pieces(wide: Any, exponent: Any) -> Any:
    """The sums of the pieces. Elements are scaled to below one in two steps: the power of two may not be a float by
    itself."""
    half = exponent // 2
    rest = wide * np.ldexp(1.0, -half) * np.ldexp(1.0, half - exponent)
    sums = np.zeros(PIECES, np.int64)
    for k in range(PIECES):
        rest = rest * 2.0**BITS
        whole = np.trunc(rest)
        rest = rest - whole
        sums[k] = np.sum(whole.astype(np.int64))
    return sums


def _number(sums: Any, exponent: Any) -> Any:
    """The float that pieces represent. For a negative sum, it is computed from the pieces with the other sign."""
    digits = _carried(sums)
    sign = 1.0
    if digits[0] < 0:
        digits = _carried(-sums)
        sign = -1.0
    found = 0.0
    for k in range(PIECES):
        found = (found + digits[PIECES - 1 - k]) * 2.0**-BITS
    half = exponent // 2
    return sign * found * np.ldexp(1.0, half) * np.ldexp(1.0, exponent - half)


def _carried(sums: Any) -> Any:
    """Pieces of the same sum, of which all but the first are from 0 to ``2**BITS - 1``."""
    digits = sums.copy()
    for k in range(PIECES - 1):
        at = PIECES - 1 - k
        carry = digits[at] >> BITS
        digits[at] -= carry << BITS
        digits[at - 1] += carry
    return digits


def _total_reverse(x: Any, role: Any) -> Any:
    n = len(x)
    return total(x, role), lambda g: (np.full(n, summed(g, 2 * role + 1)[0]), None)


def _total_forward(tangents: Any, x: Any, role: Any) -> Any:
    y = total(x, role)
    return y, total(tangents[0], 2 * role + 2)


COLLECTIVE.add(with_rules(total, _total_reverse, _total_forward))


@stands_for("adc.mpi.allsum")
def allsum(x: Any) -> Any:
    given = laid_out(x)
    if has_derivatives(given):
        return total(given, 0)[0]
    return _summed(np.sum(given, keepdims=True), 0)[0]
