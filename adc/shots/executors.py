"""Runs tasks: in this process, or on anything that has ``submit``, ``apply_async`` or ``map``, or joblib's
``Parallel``.

Each of these is a *runner* here. It starts tasks and returns a *ticket* for each, which waits for the answer. An
exception that a ticket raises comes from the executor, since exceptions of shots are answers.
"""

from __future__ import annotations

import concurrent.futures
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from adc.ir import kinds
from adc.shots.overlaps import refuse_overlaps
from adc.shots.parcels import SUMS, Part, Shared, Task, run, run_shared

_made: weakref.WeakKeyDictionary[Any, tuple[int, Any]] = weakref.WeakKeyDictionary()  # by the function that makes them
_sent: weakref.WeakKeyDictionary[Any, list[frozenset[str]]] = weakref.WeakKeyDictionary()  # by executor
_METHODS = "submit", "apply_async", "map"


class Ticket(Protocol):
    def get(self) -> Any:
        """Wait for the answer."""

    def ended(self) -> bool:
        """Whether ``get`` returns without waiting."""

    def cancel(self) -> None:
        """Cancel the task: its answer is not needed any more."""


class Runner(Protocol):
    workers: int | None  # how many tasks run at a time, if known
    sends: bool  # whether tasks go to processes that may lack the shared parts
    lasts: bool  # whether it still runs tasks after it lost workers
    processes: int | None  # how many of its processes share this machine's processors, if known

    def start(self, task: Task) -> Ticket: ...


class Source:
    """The user's executor, or a function that makes one, which is called again when the executor is broken."""

    def __init__(self, given: Any) -> None:
        self._make: Callable[[], Any] | None = given if _makes_executors(given) else None
        self._given = given
        self.executor = given if self._make is None else self._remembered()

    @property
    def renews(self) -> bool:
        return self._make is not None

    def renew(self) -> None:
        """Make a new executor."""
        assert self._make is not None
        self.executor = self._make()
        if self.executor is None or _makes_executors(self.executor):
            raise _no_executor(self.executor)
        try:
            _made[self._make] = os.getpid(), self.executor
        except TypeError:  # it has no weak references: then each sum has its own executor
            return

    def _remembered(self) -> Any:
        try:
            process, executor = _made[self._make]
        except (KeyError, TypeError):
            process, executor = 0, None
        if process != os.getpid():
            self.renew()
            return self.executor
        return executor


def there(executor: Any) -> frozenset[str]:
    """The digests of the parts that earlier sums sent to workers of an executor."""
    try:
        return frozenset().union(*_sent.get(executor, ()))
    except TypeError:  # it has no weak references
        return frozenset()


def remember(executor: Any, parts: Iterable[Part]) -> None:
    """Remember what the sum that ends has sent to an executor."""
    digests = frozenset().union(*(part.digests() for part in parts))
    with suppress(TypeError):
        _sent[executor] = [*_sent.get(executor, ()), digests][-SUMS:]


def _makes_executors(given: Any) -> bool:
    if isinstance(given, type):
        return True
    return callable(given) and not _is_joblib(given) and not any(hasattr(given, name) for name in _METHODS)


def _is_joblib(given: Any) -> bool:
    return callable(given) and hasattr(given, "n_jobs") and not isinstance(given, type)


def _no_executor(given: Any) -> Exception:
    return kinds.INVALID_OPTION(
        f"executor must have submit, apply_async or map, be joblib's Parallel, or make one of these, not {given!r}",
        help="pass an executor of concurrent.futures, a Dask client, or functools.partial(ProcessPoolExecutor, 4)",
    )


def runner(executor: Any, shared: Shared) -> Runner:
    """The runner for an executor."""
    if executor is None:
        return Here()
    if hasattr(executor, "submit"):
        return Scattering(executor, shared) if hasattr(executor, "scatter") else Submitting(executor)
    if hasattr(executor, "apply_async") and hasattr(executor, "imap"):
        return Applying(executor)
    if hasattr(executor, "map"):
        return Mapping(executor, lambda tasks: executor.map(run, tasks))
    if _is_joblib(executor):
        return Mapping(executor, lambda tasks: executor((run, (task,), {}) for task in tasks))
    raise _no_executor(executor)


def _count(executor: Any, *names: str) -> int | None:
    """The number of workers, according to the executor; None if it does not say."""
    found = (getattr(executor, name, None) for name in names)
    return next((n for n in found if isinstance(n, int) and n > 0), None)


# Runners --------------------------------------------------------------------------------------------------------------


class Here:
    """Runs tasks in this thread."""

    def __init__(self) -> None:
        self.workers: int | None = 1
        self.sends = self.lasts = False
        self.processes: int | None = None

    def start(self, task: Task) -> Ticket:
        return Answer(lambda: run(task))


class Answer:
    """An answer that is computed on demand."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.get = compute

    def ended(self) -> bool:
        return False

    def cancel(self) -> None:
        """Nothing to do: the computation has not begun."""


class Submitting:
    """An executor with ``submit`` as in ``concurrent.futures``: pools of threads and processes, those of MPI and
    loky."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self.sends, self.lasts = True, False
        self.workers = _count(executor, "_max_workers", "num_workers")
        self.processes = self.workers

    def start(self, task: Task) -> Ticket:
        return Future(self._executor.submit(run, task))


class Future:
    def __init__(self, future: Any) -> None:
        self._future = future

    def get(self) -> Any:
        return self._future.result()

    def ended(self) -> bool:
        return bool(self._future.done())

    def cancel(self) -> None:
        self._future.cancel()


class Scattering:
    """A Dask client: the shared parts are sent to each worker before any task."""

    def __init__(self, client: Any, shared: Shared) -> None:
        self._client = client
        self._shared_values = shared.values
        self._shared = client.scatter([shared], broadcast=True, hash=False)[0]
        self.sends, self.lasts = False, True
        self.workers: int | None = sum(client.nthreads().values()) or None
        self.processes: int | None = None

    def start(self, task: Task) -> Ticket:
        refuse_overlaps(self._shared_values[0], (*self._shared_values[1:], *task.args))
        return Future(self._client.submit(run_shared, self._shared, task.args, pure=False))


class Applying:
    """A pool of ``multiprocessing`` or Ray."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.sends, self.lasts = True, True
        self.workers = _count(pool, "_processes")
        self.processes = self.workers

    def start(self, task: Task) -> Ticket:
        return Result(self._pool.apply_async(run, (task,)))


class Result:
    def __init__(self, result: Any) -> None:
        self._result = result

    def get(self) -> Any:
        return self._result.get()

    def ended(self) -> bool:
        return bool(self._result.ready())

    def cancel(self) -> None:
        """Not possible."""


class Mapping:
    """An executor that runs several tasks with one call: all that were started when the first answer is requested."""

    def __init__(self, executor: Any, call: Callable[[Sequence[Task]], Iterable[Any]]) -> None:
        self._call = call
        self._started: list[Batched] = []
        self.sends, self.lasts = True, _is_joblib(executor)  # joblib makes new processes
        self.workers = _count(executor, "n_jobs")
        self.processes: int | None = None

    def start(self, task: Task) -> Ticket:
        ticket = Batched(self, task)
        self._started.append(ticket)
        return ticket

    def run(self) -> None:
        started, self._started = self._started, []
        try:
            answers = list(self._call([ticket.task for ticket in started]))
        except BaseException as error:
            for ticket in started:
                ticket.error = error
            raise
        for ticket, answer in zip(started, answers, strict=True):
            ticket.answer = answer


class Batched:
    def __init__(self, runner: Mapping, task: Task) -> None:
        self.task = task
        self.answer: Any = None
        self.error: BaseException | None = None
        self._runner = runner

    def get(self) -> Any:
        if self.answer is None and self.error is None:
            self._runner.run()
        if self.error is not None:
            raise self.error
        return self.answer

    def ended(self) -> bool:
        return self.answer is not None or self.error is not None

    def cancel(self) -> None:
        """Not possible for a single task."""


# What executors raise -------------------------------------------------------------------------------------------------


def is_broken(error: Exception) -> bool:
    """Whether the executor cannot run anything any more: it lost a worker, or was shut down."""
    return isinstance(error, concurrent.futures.BrokenExecutor) or (
        isinstance(error, RuntimeError) and "after" in str(error) and "shutdown" in str(error)
    )


def is_lost(error: Exception) -> bool:
    """Whether a task was interrupted for a reason outside of the task."""
    return isinstance(error, concurrent.futures.BrokenExecutor | concurrent.futures.CancelledError)
