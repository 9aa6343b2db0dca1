"""The progress of runs of compiled code, read while they go on: which loops, which steps.

The name of a loop is an address in memory that belongs to its code. ``register`` says what names stand for, as long as
the ``Loop`` objects exist; everything that can call the code holds them.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from weakref import WeakValueDictionary

from adc.backend import runtime
from adc.backend.library.running import RECORDS, WORDS
from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass

NAMES = "adc_counted"  # the symbol of a module whose address is the name of its first loop; the others follow


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop that counts its steps: its Python function, its place, its sweep (``forward``, ``reverse``), and whether
    it runs only some of the steps, with others before and after it."""

    function: str
    loc: Loc
    sweep: str
    is_part: bool


@dataclass(frozen=True)
class Count:
    """The progress of a loop; ``total`` is None where the number of steps is not known in advance."""

    loop: Loop
    done: int
    total: int | None


@dataclass(frozen=True)
class Run:
    """One call: its number, whether it still goes on, and the progress of the loops that began last in either sweep."""

    number: int
    goes_on: bool
    forward: Count | None
    reverse: Count | None


_loops: WeakValueDictionary[int, Loop] = WeakValueDictionary()


def register(first: int, loops: Sequence[Loop]) -> None:
    """Register the loops with the names ``first``, ``first + 1``, ..."""
    for number, loop in enumerate(loops):
        _loops[first + number] = loop


def watch(on: bool) -> None:
    """Whether runs that end are kept until they are read."""
    ctypes.c_int32.from_address(runtime.address("adc_runs_watched")).value = int(on)


def ask(on: bool) -> None:
    """Whether loops store their progress. This costs a nanosecond per step."""
    ctypes.c_int8.from_address(runtime.address("adc_attention") + 1).value = int(on)


def read() -> list[Run]:
    """The calls that have ended since the last time, if ``watch`` is on, then those that go on, in the order in which
    they began. Calls without loops are left out."""
    words = (ctypes.c_int64 * (RECORDS * WORDS))()
    count = _read()(ctypes.addressof(words))
    runs = [_run(words[WORDS * k : WORDS * (k + 1)]) for k in range(count)]
    return sorted(runs, key=lambda run: (run.goes_on, run.number))


@functools.cache
def _read() -> ctypes._FuncPointer:
    # With the interpreter lock, which protects the list of runs.
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(runtime.address("adc_runs_read"))


def _run(words: Sequence[int]) -> Run:
    goes_on, number = words[:2]
    return Run(number, bool(goes_on), _count(*words[2:5]), _count(*words[5:8]))


def _count(name: int, done: int, total: int) -> Count | None:
    loop = _loops.get(name)
    if loop is None:
        return None
    # The two numbers may be from different moments, if the loop has started again between reading them.
    return Count(loop, done if total < 0 else min(done, total), None if total < 0 else total)
