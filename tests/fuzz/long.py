"""Random programs whose arrays are long enough for SIMD loops, blocks of iterations and remainder loops.

Most loops run over whole arrays, and most subscripts are close to their counters.
"""

from __future__ import annotations

import random

from tests.fuzz.expressions import Int, Scope
from tests.fuzz.features import choose
from tests.fuzz.generator import Generator, Program

# Four lanes and eight, an unrolled loop of them, a block of ``vectorise-outer``; short of one, and just over it.
LENGTHS = (*range(7, 20), *range(30, 40), *range(62, 72))
MOST = 1200  # iterations of nested loops


class LongGenerator(Generator):
    """Makes one program. It has fewer features than the others, so that more loops are of plain statements."""

    most_trips = MOST

    def __init__(self, rng: random.Random, size: int, only: frozenset[str] | None) -> None:
        super().__init__(rng, size, only)
        if only is None:
            self.features = frozenset(f for f in sorted(choose(rng)) if rng.random() < 0.3)

    def extent(self) -> int:
        self.long = self.rng.choice(LENGTHS)
        return self.long

    def statement(self, scope: Scope, indent: int, depth: int) -> None:
        if depth == 0 and self.chance(0.5):
            return self.for_loop(scope, indent, depth)
        if depth and self.chance(0.6):
            kinds = [self.store, self.store, self.assign, self.augment]
            kinds += [self.branch] * (depth < 3) + [self.for_loop] * (depth < 2)
            return self.rng.choice(kinds)(scope, indent, depth)
        return super().statement(scope, indent, depth)

    def in_loop(self, scope: Scope) -> None:
        """Now and then it changes no scalar from outside, so that iterations are independent more often."""
        if self.chance(0.6):
            scope.fixed |= set(scope.floats)
        if not self.chance(0.2):
            scope.jumps = ()

    def few_arrays(self) -> int:
        return self.rng.randint(1, 3)

    def new_extent(self) -> int:
        return self.long if self.chance(0.8) else super().new_extent()

    def range(self, scope: Scope) -> tuple[str, int, int, int]:
        if self.chance(0.25):
            return super().range(scope)
        n = self.long
        kind = self.rng.randint(0, 6)
        if kind == 0:
            return f"range({n - 1}, -1, -1)", 0, n - 1, n
        if kind == 1:
            first, step = self.rng.randint(0, 2), self.rng.randint(2, 3)
            return f"range({first}, {n}, {step})", first, n - 1, (n - first + step - 1) // step
        if kind <= 3:
            low, high = self.rng.randint(0, 2), n - 1 - self.rng.randint(0, 2)
            return f"range({low}, {high + 1})", low, high, high - low + 1
        return f"range({n})", 0, n - 1, n

    def subscript(self, extent: int, scope: Scope) -> str:
        counters = [i for i in scope.ints if i.low >= 0 and i.high > 6]
        if not counters or self.chance(0.15):
            return super().subscript(extent, scope)
        counter = self.rng.choice(counters[-2:])
        offsets = [k for k in (*[0] * 8, -1, 1, -2, 2) if counter.low + k >= 0 and counter.high + k < extent]
        if not offsets:
            return f"{counter.name} % {extent}" if extent < counter.high or self.chance(0.5) else self._turned(counter)
        offset = self.rng.choice(offsets)
        return f"{counter.name} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else counter.name

    def _turned(self, counter: Int) -> str:
        return f"{counter.high} - {counter.name}"


def generate_long(rng: random.Random, size: int = 14, only: frozenset[str] | None = None) -> Program:
    """A random program, of the features ``only`` if they are given, else of a few of all."""
    return LongGenerator(rng, size, only).program()
