"""Ranks as threads of one process: for tests, and to try out programs without MPI.

A message is passed when both sides are ready, as MPI may do; so a program that relies on buffered messages ends here
with an error. If all ranks wait and none can continue, all raise ``RankError``, which says where they wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import (
    AGREED,
    NOBODY,
    check_agreed,
    check_lengths,
    check_parts,
    check_ranks,
    check_root,
    described,
    sample,
    speak_to,
)


@dataclass
class _World:
    """The state shared by all ranks. ``offers``: sent arrays by sender, receiver and tag, in order. ``meetings``: the
    contributions of ranks to collective operations that are not complete."""

    size: int
    turn: threading.Condition = field(default_factory=threading.Condition)
    offers: dict[tuple[int, int, int], list[_Offer]] = field(default_factory=dict)
    meetings: dict[int, dict[int, tuple[str, Any]]] = field(default_factory=dict)
    waiting: dict[int, tuple[str, Callable[[], bool]]] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    failure: str = ""

    def wait(self, rank: int, what: str, ready: Callable[[], bool]) -> None:
        """Wait until ``ready``. The caller must hold the lock."""
        self.waiting[rank] = what, ready
        try:
            while not ready():
                self.check()
                if self.failure:
                    raise kinds.RANK_FAILED(self.failure)
                self.turn.wait()
        finally:
            del self.waiting[rank]

    def check(self) -> None:
        """Record a failure if all ranks wait for something that never comes."""
        if self.failure or not self.running <= self.waiting.keys():
            return
        if not any(ready() for _, ready in self.waiting.values()):
            places = [f"rank {k} {self.waiting[k][0]}" for k in sorted(self.waiting)]
            places += [f"rank {k} has ended" for k in range(self.size) if k not in self.waiting]
            self.fail("no rank can go on: " + "; ".join(places))

    def fail(self, why: str) -> None:
        self.failure = self.failure or why
        self.turn.notify_all()

    def end(self, rank: int) -> None:
        with self.turn:
            self.running.discard(rank)
            self.check()


@dataclass(eq=False)
class _Offer:
    data: Any
    taken: bool = False


@dataclass
class _Rank:
    """The communicator of one rank; see ``adc.ir.messages.Communicator``."""

    world: _World
    rank: int
    met: int = 0

    @property
    def size(self) -> int:
        return self.world.size

    def exchange(self, sent: Any, received: Any, dest: int, source: int, tag: int) -> None:
        check_ranks(self.size, dest, source)
        world = self.world
        with world.turn:
            offer = _Offer(sent, taken=dest == NOBODY)
            if dest != NOBODY:
                world.offers.setdefault((self.rank, dest, tag), []).append(offer)
                world.turn.notify_all()
            if source != NOBODY:
                coming = world.offers.setdefault((source, self.rank, tag), [])
                world.wait(self.rank, f"waits for a message from rank {source} with tag {tag}", lambda: bool(coming))
                found = coming.pop(0)
                found.taken = True
                check_lengths(source, len(found.data), len(received), tag)
                if found.data.dtype != received.dtype:
                    raise TypeError(f"rank {source} sends {found.data.dtype}, and {received.dtype} is received")
                received[:] = found.data
                world.turn.notify_all()
            what = f"waits for rank {dest} to receive a message with tag {tag}"
            world.wait(self.rank, what, lambda: offer.taken)

    shift = exchange

    def allreduce(self, given: Any, total: Any, role: int = 0, place: int = 0) -> None:
        parts = self._meet(described("allreduce", given, role, place), given)
        total[:] = parts[0]
        for part in parts[1:]:
            total += part

    def allgather(self, given: Any, all: Any, role: int = 0, place: int = 0) -> None:
        for k, part in enumerate(self._meet(described("allgather", given, role, place), given)):
            all[k * len(given) : (k + 1) * len(given)] = part

    def bcast(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        found[:] = self._meet(described(f"bcast from rank {root}", given, role, place), given)[root]

    def reduce(self, given: Any, total: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        parts = self._meet(described(f"reduce to rank {root}", given, role, place), given)
        total[:] = sum(parts[1:], parts[0]) if self.rank == root else 0

    def gather(self, given: Any, all: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        parts = self._meet(described(f"gather to rank {root}", given, role, place), given)
        if self.rank == root:
            all[:] = np.concatenate(parts)

    def scatter(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        if self.rank == root:
            check_parts(self.size, given, found)
        parts = self._meet(described(f"scatter from rank {root}", found, role, place), given)
        found[:] = parts[root][self.rank * len(found) : (self.rank + 1) * len(found)]

    def agree(self, given: Any, left: int, place: int = 0) -> None:
        part = sample(given)
        check_agreed(self._meet(described(AGREED[left], part, 0, place), part), AGREED[left])

    def _meet(self, what: str, given: Any) -> list[Any]:
        """The contributions of all ranks, in the order of ranks."""
        world, number = self.world, self.met
        self.met += 1
        with world.turn:
            here = world.meetings.setdefault(number, {})
            here[self.rank] = what, given.copy()
            world.turn.notify_all()
            world.wait(self.rank, f"waits for others in {what}", lambda: len(here) == world.size)
            told = {text for text, _ in here.values()}
            if len(told) > 1:
                done = "; ".join(f"rank {k} does {here[k][0]}" for k in sorted(here))
                raise kinds.RANK_FAILED(f"ranks do not do the same: {done}")
            return [here[k][1] for k in range(world.size)]


def simulate(n: int, f: Callable[..., Any], *args: Any) -> list[Any]:
    """Run ``f(*args)`` on ``n`` ranks, which are threads of this process. Returns a list of their results.

    In each thread ``adc.mpi.rank()`` has a different value. If a rank raises an exception, the others stop as soon as
    they would wait, and the first exception is raised here.
    """
    world = _World(n, running=set(range(n)))
    results: list[Any] = [None] * n
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        speak_to(_Rank(world, rank))
        try:
            results[rank] = f(*args)
        except BaseException as error:
            with world.turn:
                errors.append(error)
                world.fail(f"rank {rank} raised {type(error).__name__}: {error}")
        finally:
            speak_to(None)
            world.end(rank)

    threads = [threading.Thread(target=run, args=(k,), name=f"rank {k}") for k in range(n)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:  # an interrupt: the ranks must not wait for ever
        with world.turn:
            world.fail(f"{type(error).__name__}: {error}")
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise errors[0]
    return results
