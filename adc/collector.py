"""Python's garbage collector waits while a function is compiled.

IR is many small objects that refer to each other and are all in use until a stage is over. The collector, which is
started by their number, goes through all of them again and again and finds nothing: a third of a compiler's own time,
and more than in proportion to the length of the function.
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
    """Nothing is collected, in any thread, until the last of all pauses is over."""
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
