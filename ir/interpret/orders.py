"""Orders in which the interpreter runs the iterations of a parallel loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

Order = Callable[[range], Iterable[int]]


def forward(iterations: range) -> Iterable[int]:
    return iterations


def backward(iterations: range) -> Iterable[int]:
    return reversed(iterations)


def shuffled(seed: int) -> Order:
    """A random order that is determined by ``seed``."""
    rng = random.Random(seed)

    def order(iterations: range) -> Iterable[int]:
        return rng.sample(iterations, len(iterations))

    return order
