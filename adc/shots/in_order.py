"""Sends shots to an executor, and returns their answers in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from adc.errors import AdcError, Note
from adc.ir import kinds
from adc.shots.executors import Runner, Source, Ticket, is_broken, is_lost, remember, runner, there
from adc.shots.parcels import Done, Failed, Missing, Part, Shared, Task, Unknown

_LOST = 2  # how often workers may be lost without a shot ending in between


class _Started:
    """A shot that was sent and is not summed yet."""

    def __init__(self, index: int, args: tuple[Any, ...]) -> None:
        self.index = index
        self.args = args
        self.ticket: Ticket | None = None
        self.missing = frozenset[str]()  # parts that workers lacked
        self.by_value = False


class Queue:
    """The shots that were sent and are not summed yet, in order."""

    def __init__(self, parts: tuple[Part, ...], source: Source, in_flight: int | None, count: int | None) -> None:
        self._parts = parts
        self._source = source
        self._asked = in_flight
        self._count = count
        self._by_value = False
        self._waiting: deque[_Started] = deque()
        self._summed = 0
        self._lost = 0  # how often workers were lost since a shot ended
        self._ended = 0  # how many shots had ended when workers were last lost
        self._begin()

    def _begin(self) -> None:
        """Begin with an executor that has not run anything yet."""
        self._runner: Runner = runner(self._source.executor, Shared(self._parts))
        workers = self._runner.workers
        self._most = self._asked or (1 if self._source.executor is None else 2 * (workers or os.cpu_count() or 1))
        # The first tasks, one per worker, carry the parts that no earlier sum has sent.
        self._there = there(self._source.executor)
        self._workers = workers or self._most
        self._first = self._workers if self._runner.sends else 0

    def answers(self, shots: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each shot, and its value and gradient."""
        index, ended = 0, False
        while True:
            while not ended and len(self._waiting) < self._most:
                try:
                    shot = next(shots)
                except StopIteration:
                    ended = True
                    break
                entry = _Started(index, shot if type(shot) is tuple else (shot,))
                index += 1
                self._waiting.append(entry)
                self._start(entry)
            if not self._waiting:
                return
            first = self._waiting[0]
            found = self._answer(first)
            self._waiting.popleft()
            self._summed += 1
            yield first.index, found

    def close(self) -> None:
        """Cancel all shots without an answer."""
        remember(self._source.executor, self._parts)
        for entry in self._waiting:
            if entry.ticket is not None:
                with suppress(Exception):
                    entry.ticket.cancel()
        self._waiting.clear()

    def _start(self, entry: _Started) -> None:
        known: frozenset[str] | None = None
        if entry.missing:  # the next worker may lack other parts, so these accumulate
            known = frozenset().union(*(part.digests() for part in self._parts)) - entry.missing
        elif self._first > 0:
            known = self._there
        self._first -= 1
        entry.by_value = self._by_value
        task = Task(self._parts, entry.args, known, entry.by_value, self._runner.processes)
        try:
            entry.ticket = self._runner.start(task)
        except Exception as error:
            entry.ticket = None
            self._after(error, entry)

    def _answer(self, entry: _Started) -> Any:
        """Value and gradient of a shot, which is run again as often as necessary."""
        while True:
            if entry.ticket is None:
                self._start(entry)
                continue
            try:
                found = entry.ticket.get()
            except Exception as error:
                self._after(error, entry)
                continue
            if isinstance(found, Done):
                return found.found
            if isinstance(found, Failed):
                raise in_shot(found.error, entry.index, self._count)
            if isinstance(found, Unknown) and entry.by_value:
                raise in_shot(found.error, entry.index, self._count)
            self._send_what_is_missing()

    def _send_what_is_missing(self) -> None:
        """Restart all shots whose workers lacked shared parts."""
        for entry in self._waiting:
            answer = _answer(entry.ticket)
            if isinstance(answer, Unknown) and not entry.by_value:
                if not self._by_value:  # from now on everything is sent by value
                    self._by_value, self._there = True, frozenset()
                    self._first = self._workers
                self._start(entry)
            elif isinstance(answer, Missing):
                entry.missing |= answer.digests
                self._start(entry)

    def _after(self, error: Exception, entry: _Started) -> None:
        """Handle an exception of the executor: raise an error, or let the shot be started again."""
        if not (is_lost(error) or (is_broken(error) and self._source.renews)):
            raise in_shot(error, entry.index, self._count)
        ended = self._summed + sum(_answer(other.ticket) is not None for other in self._waiting)
        self._lost = self._lost + 1 if ended == self._ended else 1
        self._ended = ended
        if self._lost > _LOST:
            raise _lost(entry.index, self._count, f"lost {self._lost} times with its worker", "") from error
        if is_broken(error):
            if not (self._source.renews or self._runner.lasts):
                raise _lost(
                    entry.index,
                    self._count,
                    "not run to its end: the executor lost a worker, and runs nothing any more",
                    "give a function that makes executors, executor=functools.partial(ProcessPoolExecutor, 4): adc "
                    "then makes a new one and runs the lost shots again",
                ) from error
            if self._source.renews:
                self._source.renew()
        self._again()

    def _again(self) -> None:
        """Restart all shots that have no answer yet."""
        for entry in self._waiting:
            if entry.ticket is not None and _answer(entry.ticket) is None:
                with suppress(Exception):
                    entry.ticket.cancel()
                entry.ticket = None
        self._begin()
        for entry in self._waiting:
            if entry.ticket is None:
                self._start(entry)


def _answer(ticket: Ticket | None) -> Any:
    """The answer, if it is available; None if it is not yet, or never will be."""
    if ticket is None or not ticket.ended():
        return None
    try:
        return ticket.get()
    except Exception:
        return None


def _lost(index: int, count: int | None, what: str, help: str) -> AdcError:
    return kinds.LOST_WORKER(f"sum_shots: {_named(index, count)} was {what}", help=help)


def in_shot(error: Exception, index: int, count: int | None) -> Exception:
    """The exception with a note of the shot."""
    if isinstance(error, AdcError):
        return error.noted(Note(f"in {_named(index, count)}")).with_traceback(error.__traceback__)
    error.add_note(f"in {_named(index, count)}")
    return error


def _named(index: int, count: int | None) -> str:
    return f"shot {index}" if count is None else f"shot {index} of {count} (counted from 0)"
