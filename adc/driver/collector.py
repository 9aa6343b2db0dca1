"""Pauses Python's garbage collector while a function is compiled.

IR consists of many small objects that refer to each other and are all in use until a stage ends. The collector, which
is triggered by their number, traverses all of them again and again and finds nothing: this takes a third of the
compiler's own time, and grows faster than the length of the function.

After a compilation most of them are garbage, and to free them takes a tenth of its time. So they are set aside, among
the oldest objects, which Python traverses rarely, and collected when there are many.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from adc.ir import forks

_lock = forks.Lock()
_pauses = 0
_was_on = False
_aside = 0  # objects since the last collection here
_MOST_ASIDE = 500_000  # some 60 MB


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
                _set_aside()
                gc.enable()


def _set_aside() -> None:
    """Put new objects among the oldest without looking for garbage; when there are many of these, collect them."""
    global _aside
    new, threshold = gc.get_count()[0], gc.get_threshold()[0]
    if not 0 < threshold < new:
        return
    if gc.get_freeze_count():  # what the program froze would be released with them; Python counts one by one
        return
    if _aside + new <= _MOST_ASIDE:
        _aside += new
        gc.freeze()
        gc.unfreeze()
    elif 2 * new <= _MOST_ASIDE:  # if more are new, Python collects these alone, which takes less time
        _aside = 0
        gc.collect()
