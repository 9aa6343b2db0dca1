"""Pauses Python's garbage collector while a function is compiled.

IR consists of many small objects that refer to each other and are all in use until a stage ends. The collector, which
is triggered by their number, traverses all of them again and again and finds nothing: this takes a third of the
compiler's own time, and grows faster than the length of the function.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from adc.ir import forks

_lock = forks.Lock()
_pauses = 0
_was_on = False


@contextmanager
def paused() -> Iterator[None]:
    """A context in which nothing is collected, in any thread, until the last of all such contexts ends."""
    global _pauses, _was_on
    with _lock:
        if _pauses == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _was_on:
                gc.enable()
