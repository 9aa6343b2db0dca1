"""What goes to workers and comes back: what all shots share, once for each worker as far as possible; the shots.

The function and the arguments that are the same for all shots are *parts*. In threads of this process a part is the
object itself. A process knows parts by a digest of what was sent: the first tasks carry them, others refer to them, and
a worker that lacks one says so and gets it with the next try. So no executor has to know its workers, and what a second
sum has in common with the first, as the fixed arguments of an inversion, is not sent again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from adc.backend import granted, runtime
from adc.boundary import unnamed_calls
from adc.errors import AdcError, Note
from adc.shots.overlaps import refuse_overlaps

Key = tuple[str, ...]
_kept: dict[Key, dict[str, Any]] = {}  # the parts of the last sums that sent tasks to this process
SUMS = 2
_lock = threading.Lock()


class Part:
    """Something that all tasks share, and how it is sent."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._lock = threading.Lock()
        self._packed: dict[bool, tuple[str, bytes]] = {}

    def packed(self, by_value: bool) -> tuple[str, bytes]:
        """Digest and pickle, made when a process is first sent it."""
        with self._lock:
            if by_value not in self._packed:
                data = dumps(self.value, by_value)
                self._packed[by_value] = hashlib.sha256(data).hexdigest(), data
            return self._packed[by_value]

    def digests(self) -> set[str]:
        """Of what it was sent as."""
        with self._lock:
            return {digest for digest, _ in self._packed.values()}


@dataclass
class Task:
    """One shot to run.

    ``there``: the parts, by digests, that it does not carry, since workers should have them; None: it carries none.
    ``by_value``: classes of the script that sends it are sent, too.
    """

    parts: tuple[Part, ...]
    args: tuple[Any, ...]
    there: frozenset[str] | None
    by_value: bool
    workers: int | None  # in processes of this machine that this one started, if that is known
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
    """A task that came to another process."""

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
    """What all tasks share, for executors that bring an object to all workers."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self.values = tuple(part.value for part in parts)


def run_shared(shared: Shared, args: tuple[Any, ...]) -> Done | Failed:
    """What workers call that have what tasks share."""
    function, *model = shared.values
    return _called(function, (*model, *args))


@dataclass
class Missing:
    """What a worker answers that has not got some of the parts: their digests."""

    digests: frozenset[str]


@dataclass
class Unknown:
    """What a worker answers that does not run the script in which something is defined."""

    error: Exception


@dataclass
class Done:
    """Value and gradient of a shot."""

    found: Any

    def __reduce__(self) -> Any:
        return _done, (dumps(self.found),)


class Failed:
    """The exception that a shot raised, and for other processes where."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        where = f"in process {os.getpid()} of {platform.node()}"
        if not isinstance(self.error, AdcError):  # which says where
            own = self.error.__traceback__
            lines = traceback.format_exception(self.error.with_traceback(own.tb_next if own is not None else None))
            where = "\n".join([f"{where}:", "".join(lines).rstrip()])
        return _failed, (_sendable(self.error), where)


Answer = Done | Failed | Missing | Unknown


def run(task: Task | Sent) -> Answer:
    """What workers call."""
    return task.run()


def dumps(value: Any, by_value: bool = False) -> bytes:
    """Pickled by ``pickle``, so that classes stay those of their modules, by ``cloudpickle`` what it cannot."""
    if not by_value:
        with suppress(Exception):
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)  # which says what cannot be pickled
    data: bytes = cloudpickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return data


def _called(function: Any, args: tuple[Any, ...]) -> Done | Failed:
    with unnamed_calls():
        try:
            return Done(function(*args))
        except Exception as error:
            return Failed(error)


def _parts(key: Key, data: dict[str, bytes]) -> list[Any] | Missing:
    """The parts of a task, of what it carries and of what is here."""
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
    """Divide the processors among workers, unless the environment says how many threads there are to be."""
    global _shared
    if _shared != workers and granted.asked() is None:
        _shared = workers
        runtime.set_threads(max(1, granted.processors() // workers))


def _sendable(error: Exception) -> Exception:
    """The exception, or one that says the same if it does not survive being pickled."""
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
