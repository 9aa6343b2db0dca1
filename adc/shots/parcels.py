"""The data sent to workers and back: the parts that all shots share, sent once to each worker if possible, and the
shots.

The function and the arguments that are the same for all shots are *parts*. In threads of this process a part is the
object itself. Other processes identify parts by a digest: the first tasks carry the parts, later ones only refer to
them, and a worker that lacks one reports this and gets it with the next try. So the executor need not know its workers,
and parts that a second sum shares with the first, such as the fixed arguments of an inversion, are not sent again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import threading
import traceback
from contextlib import suppress
from dataclasses import field
from typing import Any

from adc.backend import granted, runtime
from adc.border.boundary import unnamed_calls
from adc.errors import AdcError, Note
from adc.ir.lazy_dataclass import dataclass
from adc.shots.overlaps import refuse_overlaps

Key = tuple[str, ...]
_kept: dict[Key, dict[str, Any]] = {}  # the parts of the last sums that have sent tasks to this process
SUMS = 2
_lock = threading.Lock()


class Part:
    """Something that all tasks share, and how it is sent."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._lock = threading.Lock()
        self._packed: dict[bool, tuple[str, bytes]] = {}

    def packed(self, by_value: bool) -> tuple[str, bytes]:
        """Digest and pickle, made when the part is first sent to a process."""
        with self._lock:
            if by_value not in self._packed:
                data = dumps(self.value, by_value)
                self._packed[by_value] = hashlib.sha256(data).hexdigest(), data
            return self._packed[by_value]

    def digests(self) -> set[str]:
        """The digests of the forms in which it was sent."""
        with self._lock:
            return {digest for digest, _ in self._packed.values()}


@dataclass
class Task:
    """One shot to run.

    ``there``: digests of the parts that it does not carry, because workers should have them; None: it carries none.
    ``by_value``: classes of the sending script are sent, too.
    """

    parts: tuple[Part, ...]
    args: tuple[Any, ...]
    there: frozenset[str] | None
    by_value: bool
    workers: int | None  # number of worker processes that this one started on this machine, if known
    sender: int = field(default_factory=os.getpid)

    def __reduce__(self) -> Any:
        refuse_overlaps(self.parts[0].value, (*(part.value for part in self.parts[1:]), *self.args))
        packed = dict(part.packed(self.by_value) for part in self.parts)
        key = tuple(part.packed(self.by_value)[0] for part in self.parts)
        there = packed.keys() if self.there is None else self.there
        data = {digest: data for digest, data in packed.items() if digest not in there}
        return Sent, (key, data, dumps(self.args, self.by_value), self.workers, self.sender)

    def run(self) -> Done | Failed:
        function, *model = (part.value for part in self.parts)
        return _called(function, (*model, *self.args))


class Sent:
    """A task that was received by another process."""

    def __init__(self, key: Key, data: dict[str, bytes], args: bytes, workers: int | None, sender: int) -> None:
        self._key, self._data, self._args = key, data, args
        self._workers, self._sender = workers, sender

    def run(self) -> Answer:
        try:
            parts = _parts(self._key, self._data)
            if isinstance(parts, Missing):
                return parts
            args = pickle.loads(self._args)
        except (AttributeError, ImportError) as error:
            return Unknown(error)
        except Exception as error:
            return Failed(error)
        if self._workers is not None and self._sender in _parents():
            _share(self._workers)
        function, *model = parts
        return _called(function, (*model, *args))


class Shared:
    """The shared parts, for executors that send an object to all workers."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self.values = tuple(part.value for part in parts)


def run_shared(shared: Shared, args: tuple[Any, ...]) -> Done | Failed:
    """Run a task on a worker that has the shared parts."""
    function, *model = shared.values
    return _called(function, (*model, *args))


@dataclass
class Missing:
    """The answer of a worker that lacks some parts: their digests."""

    digests: frozenset[str]


@dataclass
class Unknown:
    """The answer of a worker that lacks a definition, because it does not run the script that contains it."""

    error: Exception


@dataclass
class Done:
    """Value and gradient of a shot."""

    found: Any

    def __reduce__(self) -> Any:
        return _done, (dumps(self.found),)


class Failed:
    """The exception that a shot raised; for other processes with the place."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        where = f"in process {os.getpid()} of {platform.node()}"
        if not isinstance(self.error, AdcError):  # which has its own place
            own = self.error.__traceback__
            lines = traceback.format_exception(self.error.with_traceback(own.tb_next if own is not None else None))
            where = "\n".join([f"{where}:", "".join(lines).rstrip()])
        return _failed, (_sendable(self.error), where)


Answer = Done | Failed | Missing | Unknown


def run(task: Task | Sent) -> Answer:
    """Run a task on a worker."""
    return task.run()


def dumps(value: Any, by_value: bool = False) -> bytes:
    """Pickle a value with ``pickle``, so that classes remain those of their modules, or with ``cloudpickle`` if that
    fails."""
    if not by_value:
        with suppress(Exception):
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)  # its exception says what cannot be pickled
    data: bytes = cloudpickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return data


def _called(function: Any, args: tuple[Any, ...]) -> Done | Failed:
    with unnamed_calls():
        try:
            return Done(function(*args))
        except Exception as error:
            return Failed(error)


def _parts(key: Key, data: dict[str, bytes]) -> list[Any] | Missing:
    """The parts of a task: those that it carries, and those that this process has."""
    with _lock:
        known = {digest: value for parts in _kept.values() for digest, value in parts.items()}
        if missing := set(key) - known.keys() - data.keys():
            return Missing(frozenset(missing))
        found = [known[digest] if digest in known else pickle.loads(data[digest]) for digest in key]
        _kept.pop(key, None)
        _kept[key] = dict(zip(key, found, strict=True))
        for old in list(_kept)[:-SUMS]:
            del _kept[old]
        return found


def _parents() -> set[int]:
    """The processes that may have started this one."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    return {os.getppid(), *([] if parent is None or parent.pid is None else [parent.pid])}


_shared: int | None = None


def _share(workers: int) -> None:
    """Divide the processors among workers, unless the environment sets the number of threads."""
    global _shared
    if _shared != workers and granted.asked() is None:
        _shared = workers
        runtime.set_threads(max(1, granted.processors() // workers))


def _sendable(error: Exception) -> Exception:
    """The exception, or one with the same message if it cannot be pickled."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return RuntimeError(f"{type(error).__name__}: {error}")


def _done(data: bytes) -> Done:
    return Done(pickle.loads(data))


def _failed(error: Exception, where: str) -> Failed:
    if isinstance(error, AdcError):
        return Failed(error.noted(Note(where)))
    error.add_note(where)
    return Failed(error)
