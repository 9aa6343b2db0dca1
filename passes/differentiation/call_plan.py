"""How calls are differentiated. It is kept with compiled functions, so it imports nothing of the compiler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class CallPlan:
    """How one call is differentiated: the two functions made from its callee, and what they take and give.

    The augmented function takes the arguments, then shadows of the arguments ``shadows``; it returns the results, the
    shadows of the memref results ``shadow_results``, then a record if ``record``. The reverse function takes the
    arguments ``kept``, the shadows, shadows of the memref results ``given``, the cotangents of the results
    ``cotangents_in``, then the record; it returns the cotangents of the arguments ``cotangents_out``.

    ``given`` are results in memory that the callee allocates and hands to nobody else: only the caller's reverse sweep
    has to know their shadows. What is in these afterwards does not matter.

    ``idle``: the reverse function only frees what is in the record.
    """

    augmented: str
    reverse: str
    shadows: tuple[int, ...]
    shadow_results: tuple[int, ...]
    given: tuple[int, ...]
    kept: tuple[int, ...]
    cotangents_in: tuple[int, ...]
    cotangents_out: tuple[int, ...]
    record: bool
    idle: bool = field(default=False, compare=False)  # read off the functions; no code depends on it

    @property
    def is_left_out(self) -> bool:
        """Whether the function may be called as it is, without a call in the reverse sweep."""
        return self.idle and not (self.shadow_results or self.given or self.cotangents_in)


def union(assumed: Iterable[int], found: Iterable[int]) -> tuple[int, ...]:
    """The positions of a plan that asks for what was found, and for no less than what was assumed."""
    return tuple(sorted({*assumed, *found}))
