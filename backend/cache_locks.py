"""A lock beside an entry of the cache: one process compiles, and others that need the same code wait for it.

The kernel's locks (``flock``) are used, which are released when the process that holds them ends, however it ends.
Where a file cannot be locked, or if it stays locked for too long (by a stopped process, say), each process compiles.
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

_MOST = 60.0  # seconds to wait at most
_LOOK = 0.02


class _Held(threading.local):
    def __init__(self) -> None:
        self.names: list[str] = []


_held = _Held()


@contextmanager
def held(name: str, *, outermost: bool = False) -> Iterator[bool]:
    """Hold the lock of an entry; yields whether another process or thread held it before.

    A thread does not wait for a lock that it holds itself: a signal handler may compile the same. With ``outermost``,
    no lock is taken if this thread holds another one, so that no two processes wait for each other.
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
    """The file descriptor of the locked file, None if it cannot be locked; and whether we had to wait."""
    end, waited = time.monotonic() + _MOST, False
    if fcntl is None:
        return None, waited
    with suppress(OSError), object_cache.opened_directory(name, make=True) as place:
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
    """Lock the file if nobody else has; False also if the file was deleted or replaced meanwhile."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    with suppress(FileNotFoundError):
        there = os.stat(_file(name), dir_fd=place, follow_symlinks=False)
        return there.st_ino == os.fstat(number).st_ino
    return False


def _unlock(name: str, number: int) -> None:
    with suppress(OSError), object_cache.opened_directory(name) as place:
        os.unlink(_file(name), dir_fd=place)
    with suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_UN)  # closing alone would not unlock it if a forked child has it open
    os.close(number)


def _file(name: str) -> str:
    return name[2:] + object_cache.LOCK
