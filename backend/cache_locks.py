"""One process compiles, and others that want the same wait for it: a lock beside an entry of the cache.

The locks are the kernel's (``flock``), which end with the process that holds them, however that ends. Where a file
cannot be locked, or when one was locked for too long (by a process that is stopped, say), everybody compiles.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from adc.backend import object_cache

try:
    import fcntl
except ModuleNotFoundError:  # no such system call
    fcntl = None  # type: ignore[assignment]

_MOST = 60.0  # seconds that one waits
_LOOK = 0.02


class _Held(threading.local):
    def __init__(self) -> None:
        self.names: list[str] = []


_held = _Held()


@contextmanager
def held(name: str, *, outermost: bool = False) -> Iterator[bool]:
    """The lock of an entry, and whether another process or thread had it before.

    What this thread holds it does not wait for: the handler of a signal may compile the same. With ``outermost``, there
    is no lock where this thread holds another, so that no two processes wait for each other.
    """
    if name in _held.names or (outermost and _held.names):
        yield False
        return
    number, waited = _locked(name)
    _held.names.append(name)
    try:
        yield waited
    finally:
        _held.names.remove(name)
        if number is not None:
            _unlock(name, number)


def _locked(name: str) -> tuple[int | None, bool]:
    """The open file that is locked, None if it cannot be; and whether that took waiting."""
    end, waited = time.monotonic() + _MOST, False
    if fcntl is None:
        return None, waited
    with suppress(OSError), object_cache.place(name, make=True) as place:
        while True:
            number = os.open(_file(name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=place)
            try:
                if _is_locked(name, number, place):
                    return number, waited
            except BaseException:
                os.close(number)
                raise
            os.close(number)
            if time.monotonic() > end:
                return None, waited
            waited = True
            time.sleep(_LOOK)
    return None, waited


def _is_locked(name: str, number: int, place: int) -> bool:
    """Lock the file, if nobody has it; it may have been deleted meanwhile, and be another one now."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    with suppress(FileNotFoundError):
        there = os.stat(_file(name), dir_fd=place, follow_symlinks=False)
        return there.st_ino == os.fstat(number).st_ino
    return False


def _unlock(name: str, number: int) -> None:
    with suppress(OSError), object_cache.place(name) as place:
        os.unlink(_file(name), dir_fd=place)
    with suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_UN)  # also where a forked child has it open, too
    os.close(number)


def _file(name: str) -> str:
    return name[2:] + object_cache.LOCK
