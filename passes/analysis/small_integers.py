"""What is known of integers if those that can be asked for at run time are not large."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from adc.ir.core import Op, Value
from adc.ir.nesting import inside
from adc.passes.analysis.integers import MAX_DEPTH, Integers, Interval


class SmallIntegers(Integers):
    """What is known if the integers that are ``available`` are not larger than ``limit``; ``small`` lists those used.

    What a loop carries comes from earlier iterations, and is small only if it was so there. So while a carried value is
    followed back through a loop's body, nothing that the body computes is taken to be small.
    """

    def __init__(self, limit: int, available: Callable[[Value], bool]) -> None:
        super().__init__()
        self._limit = limit
        self._available = available
        self.small: dict[Value, None] = {}
        self._followed: list[Op] = []  # loops
        self._taken: list[Value] = []  # what they carry

    @contextlib.contextmanager
    def taking(self, value: Value, interval: Interval) -> Iterator[None]:
        loop = value.block.parent_op if value.block is not None else None
        assert loop is not None
        with super().taking(value, interval):
            for known in (self._intervals, self._exact):
                for v in [v for v in known if v is not value and v not in self._taken and inside(v, loop)]:
                    del known[v]  # found when it was taken to be small
            self._followed.append(loop)
            self._taken.append(value)
            try:
                yield
            finally:
                self._followed.pop()
                self._taken.pop()

    def interval(self, value: Value, depth: int = MAX_DEPTH) -> Interval:
        low, high = super().interval(value, depth)
        if any(inside(value, loop) for loop in self._followed):
            return low, high
        if (low < -self._limit or high > self._limit) and low < high and self._available(value):
            self.small[value] = None
            low, high = max(low, -self._limit), min(high, self._limit)
            self._intervals[value] = low, max(low, high)
        return low, high
