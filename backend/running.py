"""How far runs of compiled code are, read while they go on: which loops, which steps.

The loops have names, addresses of memory that belongs to their code. ``register`` says what they stand for, as long as
somebody holds the ``Loop``: whoever can call the code.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from adc.backend import runtime
from adc.backend.library.running import RECORDS, WORDS
from adc.ir.core import Loc

NAMES = "adc_counted"  # the symbol of a module whose address is the name of its first loop; the others follow


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop that counts its steps: of which Python function, where, of which sweep (``forward``, ``reverse``), and
    whether it runs a part of the steps, which others are before and after."""

    function: str
    loc: Loc
    sweep: str
    is_part: bool


@dataclass(frozen=True)
class Count:
    """How far a loop is; ``total`` is None where the number of steps is not known before."""

    loop: Loop
    done: int
    total: int | None


@dataclass(frozen=True)
class Run:
    """One call: its number, whether it goes on, and how far the loops are that began last in either sweep."""

    number: int
    goes_on: bool
    forward: Count | None
    reverse: Count | None


_loops: WeakValueDictionary[int, Loop] = WeakValueDictionary()


def register(first: int, loops: Sequence[Loop]) -> None:
    """Say what the names from ``first`` on stand for."""
    for number, loop in enumerate(loops):
        _loops[first + number] = loop


def watch(on: bool) -> None:
    """Whether runs that end are kept until they are read."""
    ctypes.c_int32.from_address(runtime.address("adc_runs_watched")).value = int(on)


def ask(on: bool) -> None:
    """Whether loops are to say how far they are. It costs them a nanosecond a step."""
    ctypes.c_int8.from_address(runtime.address("adc_attention") + 1).value = int(on)


def read() -> list[Run]:
    """The calls that have ended since the last time, if somebody watches, then those that go on, in the order in which
    they began. Calls that have no loops are not among them."""
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
    # Both may be of different moments, if the loop has begun once more between them.
    return Count(loop, done if total < 0 else min(done, total), None if total < 0 else total)
