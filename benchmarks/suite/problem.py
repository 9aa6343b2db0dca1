"""The definition of a problem: a function as a user writes it, data for it, and the same function for its peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

Args = tuple[Any, ...]


class Runner(NamedTuple):
    """One implementation, bound to its data and to a number of threads.

    ``primal()`` is the function's value, ``gradient()`` a pair of the value and the tuple of gradients, in the order of
    the problem's ``argnums``. Either may be missing. The next call may overwrite their results.
    """

    primal: Callable[[], Any] | None
    gradient: Callable[[], tuple[Any, tuple[Any, ...]]] | None = None


Maker = Callable[[Args, int], Runner]  # from arguments and a number of threads


@dataclass(frozen=True)
class Cost:
    """The least work of one call, for any implementation.

    ``bytes`` pass between the core and the memory that holds the working set; ``flops`` are additions, multiplications
    and divisions; ``special`` are elementary functions (sine, exponential, logarithm); ``chain`` is the number of
    operations in the longest dependent chain.
    """

    bytes: float = 0.0
    flops: float = 0.0
    special: float = 0.0
    chain: float = 0.0


@dataclass(frozen=True)
class Work:
    """The costs of a problem at one size. ``working_set``: bytes that are accessed again and again."""

    primal: Cost
    gradient: Cost
    working_set: float


@dataclass(frozen=True)
class Problem:
    """One line of the table.

    ``function`` is the plain Python function that adc compiles. It returns a float, or else an array that is pulled
    back while it is computed: ``cotangent`` makes the array's cotangent from the arguments, and ``weighted`` takes it
    as an additional argument, and returns the sum of the products, and the array. ``data`` makes arguments from a
    random generator and the sizes of ``full`` or ``quick``. ``most`` is the maximum cost of a gradient on one thread,
    in units of the primal's time. ``tolerance`` is that of values and gradients, relative to the largest element.
    ``scaling`` has more sizes, for the plot over problem size. ``scales`` is false if nothing can run on several
    threads.
    """

    name: str
    title: str
    function: Callable[..., Any]
    argnums: tuple[int, ...]
    data: Callable[..., Args]
    full: Mapping[str, int]
    quick: Mapping[str, int]
    work: Callable[[Args], Work]
    peers: Mapping[str, Maker]
    most: float | None = None
    tolerance: float = 1e-9
    cotangent: Callable[[Args], Any] | None = None
    weighted: Callable[..., Any] | None = None
    scaling: tuple[Mapping[str, int], ...] = field(default=())
    scales: bool = True

    def arguments(self, size: Mapping[str, int]) -> Args:
        return self.data(np.random.default_rng(20), **size)
