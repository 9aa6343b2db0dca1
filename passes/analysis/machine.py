"""The machine that code is for: what passes ask of it, and what a target (``adc.target``) says of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """Figures by which passes choose. What is right does not depend on any of them, but for the order of sums."""

    cache_bytes: int
    """What stays in the caches of a core between two uses, its share of those that cores have in common included."""
    block_bytes: int
    """What stays close to a core, where a loop can choose how much it goes through again."""
    second_cache_bytes: int
    """What stays in the second cache of a core."""
    last_cache_bytes: int
    """The last cache, which all cores have in common, does not hold more."""
    line_bytes: int
    """Of a cache line, which is also the alignment that vectors like."""
    lanes: int
    """Iterations of a loop side by side, of doubles: some registers' worth, so that one waits for its sum while others
    go on, and what is the same for all is spread over many."""
    few_lanes: int
    """Lanes where there are no more iterations: those of a long register or of two short ones."""


CPU = Machine(
    cache_bytes=6 << 20,
    block_bytes=1 << 20,
    second_cache_bytes=192 << 10,
    last_cache_bytes=32 << 20,
    line_bytes=64,
    lanes=48,  # twelve of AVX2's registers are their sums, and four are left for what is added
    few_lanes=8,
)

_asked: ContextVar[Machine | None] = ContextVar("machine", default=None)


def machine() -> Machine:
    """The one that code is being made for; a CPU where nobody says."""
    return _asked.get() or CPU


@contextmanager
def made_for(given: Machine) -> Iterator[None]:
    """Passes that run inside make code for that machine."""
    token = _asked.set(given)
    try:
        yield
    finally:
        _asked.reset(token)
