"""Locks that no other thread holds when the process forks.

A child process has only the thread that forked: it would wait for ever for a lock that another thread held, and LLVM
would be left in the middle of something. So a fork waits until other threads have released all of these locks, as
Python's own fork waits for the import lock. Meanwhile, threads that hold none of them cannot take one.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  # see _before()
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

# A limit, in case another thread waits for the one that forks: if two threads hold locks and fork, one may wait in a
# hook of another library for a lock that the other one's fork has taken.
_MOST_SECONDS = 60.0

_condition = threading.Condition()  # reentrant: the handler of a signal may compile, too
_holders: dict[int, int] = {}  # how many locks each thread holds or waits for
_forking: set[int] = set()  # threads
_helped: dict[int, int] = {}  # threads that do the work of another one, which waits for them


class Lock:
    """A lock for ``with``; a thread may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        _enter()
        try:
            self._lock.acquire()
        except BaseException:
            _leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        _leave()


_locks: WeakSet[Lock] = WeakSet()


@contextmanager
def held_off() -> Iterator[None]:
    """No other thread forks meanwhile."""
    _enter()
    try:
        yield
    finally:
        _leave()


@contextmanager
def helping(other: int) -> Iterator[None]:
    """What this thread does meanwhile, another one waits for. If that one holds locks, a fork waits for it, and so this
    thread may take locks as it could."""
    me = threading.get_ident()
    _helped[me] = other
    try:
        yield
    finally:
        del _helped[me]


def _enter() -> None:
    me = threading.get_ident()
    with _condition:
        while _forking - {me} and me not in _holders and _helped.get(me) not in _holders:
            _condition.wait()
        _holders[me] = _holders.get(me, 0) + 1


def _leave() -> None:
    me = threading.get_ident()
    with _condition:
        _holders[me] -= 1
        if not _holders[me]:
            del _holders[me]
            _condition.notify_all()


def _before() -> None:
    """Hooks that were registered first are called last. Python's pool of threads takes a lock when the process forks
    which threads that have locks of this module need, too, to hand out work: it is imported above to come after this
    one."""
    end = time.monotonic() + _MOST_SECONDS
    with _condition:
        _forking.add(threading.get_ident())
        _condition.notify_all()  # two that fork do not wait for each other
        while (left := end - time.monotonic()) > 0 and not _holders.keys() <= _forking:
            _condition.wait(left)


def _in_parent() -> None:
    with _condition:
        _forking.discard(threading.get_ident())
        _condition.notify_all()


def _in_child() -> None:
    global _condition
    me = threading.get_ident()
    _condition = threading.Condition()
    _forking.clear()
    for other in _holders.keys() - {me}:
        del _holders[other]
    for other in _helped.keys() - {me}:
        del _helped[other]
    for lock in _locks:
        if not lock._lock._is_owned():  # type: ignore[attr-defined]
            lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
