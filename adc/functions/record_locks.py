"""Allows one sweep at a time over the record of a pullback, and none if a fork has left it inconsistent."""

from __future__ import annotations

import os
import threading

from adc.ir import kinds


class RecordLock:
    """A lock, for ``with``, for the record of one call. The record is lost if another thread held the lock when this
    process was forked: that thread does not exist here, and has left the record unfinished."""

    __slots__ = ("_lock", "_record", "lost")

    def __init__(self, record: object) -> None:
        self.lost = False
        self._record = record
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        _taken.append(self)
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        _taken.remove(self)

    def check(self, name: str) -> None:
        """Raises if the record, of a call of ``name``, is lost."""
        if self.lost:
            raise kinds.NOT_SENDABLE(
                f"the pullback of a call of {name} ran in another thread when this process was forked off: what it "
                "keeps is half done here",
                help=f"call it in the process that it was made in; or call {name} again for another",
            )

    def after_fork(self) -> None:
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock, self.lost = threading.RLock(), True
            _kept.append(self._record)  # its memory may not be in a state to be freed


_taken: list[RecordLock] = []  # including those that threads wait for
_kept: list[object] = []


def _in_child() -> None:
    for turn in _taken:
        turn.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
