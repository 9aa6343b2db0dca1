"""``prange``: a ``range`` whose iterations may run in any order and at the same time."""

from __future__ import annotations


def prange(*args: int) -> range:
    """As ``range``; in compiled code the loop's iterations run on several threads.

    Iterations must not depend on each other, but for sums, products, minima and maxima of numbers.
    """
    return range(*args)
