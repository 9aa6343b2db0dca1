"""``with adc.progress():`` shows the steps of the calls inside while they run.

A thread reads the progress of loops ten times a second (``adc.backend.running``) and shows it with rich: on a terminal
and in a notebook as bars, elsewhere as a line from time to time.
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from adc.backend import running
from adc.border.boundary import public
from adc.ir import kinds
from adc.watch.sweeps import Calls

if TYPE_CHECKING:
    from rich.console import Console

TICK = 0.1  # seconds between two readings
ANSWER = 0.01  # seconds that loops have to store their progress before it is read
SOONEST = 0.3  # seconds that a call runs before it is shown

_lock = threading.Lock()
_watch: Watch | None = None
_depth = 0


@public
def progress(*, console: Console | None = None) -> Progress:
    """A context in which calls of compiled functions show their progress.

        with adc.progress():
            misfit.grad(c, u0, steps)

    It works for functions, gradients, pullbacks and forward mode, in any thread, compiled before or not. Each time loop
    has a bar for the forward sweep and one for the reverse sweep: steps done and in total, steps per second, and the
    time left (in seconds, minutes or hours). Calls that take less than a third of a second are not shown. ``console``
    is the ``rich.console.Console`` to write to (by default, standard error). If that is neither a terminal nor a
    notebook, a line is written every half minute. Nesting such contexts, in any threads, has no effect. Raises
    ``AdcError`` if ``console`` is not a console.
    """
    if console is not None:
        from rich.console import Console

        if not isinstance(console, Console):
            raise kinds.INVALID_OPTION(
                f"console must be a rich.console.Console, not {console!r}",
                help="write `with adc.progress():` around the calls",
            )
    return Progress(console)


class Progress:
    """The context that ``adc.progress`` returns."""

    def __init__(self, console: Console | None) -> None:
        self._console = console

    def __enter__(self) -> Progress:
        global _watch, _depth
        with _lock:
            if _watch is None:
                _watch = Watch(self._console)
            _depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _watch, _depth
        with _lock:
            _depth = max(0, _depth - 1)  # a forked child leaves a context that it did not enter
            if _depth == 0 and _watch is not None:
                ended, _watch = _watch, None
                ended.stop()


def _forget() -> None:
    """Reset the state in a forked child, which has no watching thread."""
    global _lock, _watch, _depth
    _lock, _watch, _depth = threading.Lock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Watch:
    """The thread that reads progress and shows it."""

    def __init__(self, console: Console | None) -> None:
        from adc.watch.bars import display  # rich takes a while to load

        self._show = display(console)
        self._calls = Calls()
        self._over = threading.Event()
        running.watch(True)
        self._thread = threading.Thread(target=self._run, name="adc.progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after a last reading."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            last: dict[int, running.Run] = {}
            while not self._over.wait(TICK - ANSWER):
                running.ask(True)
                self._over.wait(ANSWER)
                runs = self._look()
                if all(last.get(run.number) != run for run in runs if run.goes_on):
                    running.ask(False)
                last = {run.number: run for run in runs}
            self._look()
        finally:
            running.ask(False)
            running.watch(False)
            self._show.close()

    def _look(self) -> list[running.Run]:
        runs, now = running.read(), time.monotonic()
        self._show.update([c for c in self._calls.see(runs, now) if now - c.since >= SOONEST], now)
        return runs
