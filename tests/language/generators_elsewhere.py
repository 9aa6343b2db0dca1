"""A generator with its own globals."""

from __future__ import annotations

SCALE = 3.0


def scaled(x, more=1.0):
    for v in x:
        yield v * SCALE + more
