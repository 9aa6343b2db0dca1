"""A line for users who wait at a prompt or in a notebook while a function is compiled."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds before the line is shown

_here = threading.local()


@contextmanager
def told(what: str) -> Iterator[None]:
    """Say on standard error that ``what`` is being compiled, if that takes long, and how long it took.

    There is no line in scripts, in tests, or if errors are redirected. Of nested compilations only the outermost is
    reported.
    """
    if not _somebody_waits() or getattr(_here, "inside", False):
        yield
        return
    begun, said = time.monotonic(), threading.Event()

    def say() -> None:
        said.set()
        _print(f"adc: compiling {what} ...")

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    _here.inside = True
    timer.start()
    try:
        yield
    finally:
        _here.inside = False
        timer.cancel()
    if said.is_set():
        _print(f"adc: compiled {what} in {time.monotonic() - begun:.1f} s")


def _somebody_waits() -> bool:
    """Whether this is an interactive session (of Python or IPython, which set a prompt) whose standard error is
    visible."""
    stream = sys.stderr
    return hasattr(sys, "ps1") and stream is not None and (stream.isatty() or "ipykernel" in sys.modules)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
