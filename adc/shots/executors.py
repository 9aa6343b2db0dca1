"""What runs tasks: this process, or whatever has ``submit``, ``apply_async`` or ``map``, or is joblib's ``Parallel``.

Each is a *runner* here: it starts tasks and hands out a *ticket* for each, which waits for the answer. What the ticket
raises is the executor's doing, since exceptions of shots are answers.
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

_made: weakref.WeakKeyDictionary[Any, tuple[int, Any]] = weakref.WeakKeyDictionary()  # by what makes them
_sent: weakref.WeakKeyDictionary[Any, list[frozenset[str]]] = weakref.WeakKeyDictionary()  # to executors, by last sums
_METHODS = "submit", "apply_async", "map"


class Ticket(Protocol):
    def get(self) -> Any:
        """Wait for the answer."""

    def ended(self) -> bool:
        """Whether ``get`` would not wait."""

    def cancel(self) -> None:
        """The answer is not wanted any more."""


class Runner(Protocol):
    workers: int | None  # how many tasks run at a time, if that is known
    sends: bool  # whether tasks are sent to processes that may lack what they share
    lasts: bool  # whether it runs more after it lost workers
    processes: int | None  # how many processes of this machine share its processors, if that is known

    def start(self, task: Task) -> Ticket: ...


class Source:
    """What the user gave: an executor, or a function that makes one, which is called again when that one is broken."""

    def __init__(self, given: Any) -> None:
        self._make: Callable[[], Any] | None = given if _makes_executors(given) else None
        self._given = given
        self.executor = given if self._make is None else self._remembered()

    @property
    def renews(self) -> bool:
        return self._make is not None

    def renew(self) -> None:
        """Have a new executor made."""
        assert self._make is not None
        self.executor = self._make()
        if self.executor is None or _makes_executors(self.executor):
            raise _no_executor(self.executor)
        try:
            _made[self._make] = os.getpid(), self.executor
        except TypeError:  # nothing can refer to it weakly: then each sum has an executor of its own
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
    """The parts, by digests, that were sent to workers of an executor by the sums before."""
    try:
        return frozenset().union(*_sent.get(executor, ()))
    except TypeError:  # nothing can refer to it weakly
        return frozenset()


def remember(executor: Any, parts: Iterable[Part]) -> None:
    """What the sum that ends has sent."""
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
    """What starts tasks on an executor."""
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
    """How many workers an executor says that it has."""
    found = (getattr(executor, name, None) for name in names)
    return next((n for n in found if isinstance(n, int) and n > 0), None)


# Runners --------------------------------------------------------------------------------------------------------------


class Here:
    """This thread."""

    def __init__(self) -> None:
        self.workers: int | None = 1
        self.sends = self.lasts = False
        self.processes: int | None = None

    def start(self, task: Task) -> Ticket:
        return Answer(lambda: run(task))


class Answer:
    """What is computed when it is asked for."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.get = compute

    def ended(self) -> bool:
        return False

    def cancel(self) -> None:
        """Nothing has begun."""


class Submitting:
    """What has ``submit`` as ``concurrent.futures`` has it: pools of threads and processes, of MPI, loky's."""

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
    """A client of Dask: what tasks share goes to each worker before any of them."""

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
    """A pool of ``multiprocessing``, or Ray's."""

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
        """It cannot be."""


class Mapping:
    """What runs several tasks by one call: all that were started when the first answer is asked for."""

    def __init__(self, executor: Any, call: Callable[[Sequence[Task]], Iterable[Any]]) -> None:
        self._call = call
        self._started: list[Batched] = []
        self.sends, self.lasts = True, _is_joblib(executor)  # which makes new processes
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
        """It runs with the others or not at all."""


# What executors raise -------------------------------------------------------------------------------------------------


def is_broken(error: Exception) -> bool:
    """Whether nothing can run on the executor any more: it lost a worker, or was shut down."""
    return isinstance(error, concurrent.futures.BrokenExecutor) or (
        isinstance(error, RuntimeError) and "after" in str(error) and "shutdown" in str(error)
    )


def is_lost(error: Exception) -> bool:
    """Whether a task did not run to its end for a reason that is not its own."""
    return isinstance(error, concurrent.futures.BrokenExecutor | concurrent.futures.CancelledError)
