"""The machine that code is made for: what passes ask about it, and what a target (``adc.target``) says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Machine:
    """Figures by which passes choose. Results do not depend on them, except through the order of sums."""

    cache_bytes: int
    """What stays in the caches of a core between two uses, including its share of common caches."""
    block_bytes: int
    """What stays close to a core, for loops that can choose how much they read again."""
    second_cache_bytes: int
    """What stays in the second-level cache of a core."""
    last_cache_bytes: int
    """The most that the last cache, which all cores share, can hold."""
    line_bytes: int
    """The length of a cache line, which is also the alignment that vectors prefer."""
    lanes: int
    """Iterations of a loop side by side, of doubles: some registers' worth, so that others go on while one waits for
    its sum, and the cost of what is the same for all is shared by many."""
    few_lanes: int
    """Lanes if there are no more iterations: those of a long register or of two short ones."""

    @property
    def few_terms(self) -> int:
        """The most terms of sums that are in order, with several sums side by side: three registers of them."""
        return 3 * self.few_lanes


CPU = Machine(
    cache_bytes=6 << 20,
    block_bytes=1 << 20,
    second_cache_bytes=192 << 10,
    last_cache_bytes=32 << 20,
    line_bytes=64,
    lanes=48,  # twelve of AVX2's registers hold their sums, and four are left for what is added
    few_lanes=8,
)

_asked: ContextVar[Machine | None] = ContextVar("machine", default=None)


def machine() -> Machine:
    """The machine that code is being made for; a CPU by default."""
    return _asked.get() or CPU


@contextmanager
def made_for(given: Machine) -> Iterator[None]:
    """Let passes that run inside make code for that machine."""
    token = _asked.set(given)
    try:
        yield
    finally:
        _asked.reset(token)
