"""Ranks that are processes, by the package ``mpi4py``.

All waiting is in short turns, so that Ctrl-C works, and, with ``ADC_MPI_TIMEOUT`` seconds in the environment, ends with
``RankError`` where nothing comes. An exception that nobody handles ends all processes: the others would wait for ever.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adc.ir import kinds, messages
from adc.ir.messages import (
    AGREED,
    NOBODY,
    Communicator,
    Single,
    check_agreed,
    check_lengths,
    check_ranks,
    described,
    sample,
)

SMALL = 4096  # bytes from all ranks that are gathered by each
NOTHING = np.zeros(0, np.uint8)
TURNS = 200  # attempts without a pause


def find() -> None:
    """Let this process find the other ones when it first asks for them."""
    messages.found_by(_world)


@functools.cache
def _world() -> Communicator:
    if importlib.util.find_spec("mpi4py") is None:
        return Single()
    MPI = importlib.import_module("mpi4py.MPI")
    world = MPI.COMM_WORLD
    if world.Get_size() == 1:
        return Single()
    _abort_on_exceptions(world)
    return Processes(MPI, world)


def _abort_on_exceptions(world: Any) -> None:
    before = sys.excepthook

    def hook(*error: Any) -> None:
        before(*error)
        sys.stderr.flush()
        world.Abort(1)

    sys.excepthook = hook


@dataclass
class Processes:
    """The ranks of a communicator of mpi4py; see ``adc.ir.messages.Communicator``."""

    mpi: Any
    world: Any
    rank: int = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        text = os.environ.get("ADC_MPI_TIMEOUT", "")
        self.seconds = float(text) if text else float("inf")

    def exchange(self, sent: Any, received: Any, dest: int, source: int, tag: int) -> None:
        check_ranks(self.size, dest, source)
        if dest == NOBODY and source == NOBODY:
            return
        begun = []
        # One more byte than fits: a message that is too long is seen to be.
        room = np.empty(received.nbytes + 1, np.uint8)
        if source != NOBODY:
            begun.append(self.world.Irecv([room, self.mpi.BYTE], source=source, tag=tag))
        if dest != NOBODY:
            begun.append(self.world.Issend([sent.view(np.uint8), self.mpi.BYTE], dest=dest, tag=tag))
        places = [] if source == NOBODY else [f"a message from rank {source} with tag {tag}"]
        places += [] if dest == NOBODY else [f"rank {dest} to receive a message with tag {tag}"]
        found = self._wait(begun, " and ".join(places))
        if source != NOBODY:
            count = found[0].Get_count(self.mpi.BYTE)
            check_lengths(source, count // received.itemsize, len(received), tag)
            received[:] = room[:count].view(received.dtype)

    shift = exchange

    def allreduce(self, given: Any, total: Any, role: int = 0, place: int = 0) -> None:
        what = described("allreduce", given, role, place)
        if given.nbytes * self.size <= SMALL:
            parts = self._gathered(what, given)
            total[:] = parts[0]
            for part in parts[1:]:
                total += part
            return
        self._gathered(what, NOTHING)
        self._wait([self.world.Ireduce(given, total, op=self.mpi.SUM, root=0)], "others in allreduce")
        self._wait([self.world.Ibcast(total, root=0)], "others in allreduce")

    def allgather(self, given: Any, all: Any, role: int = 0, place: int = 0) -> None:
        what = described("allgather", given, role, place)
        if given.nbytes * self.size <= SMALL:
            all[:] = np.concatenate(self._gathered(what, given))
            return
        self._gathered(what, NOTHING)
        self._wait([self.world.Iallgather(given, all)], "others in allgather")

    def bcast(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_ranks(self.size, root)
        self._gathered(described(f"bcast from rank {root}", given, role, place), NOTHING)
        found[:] = given
        self._wait([self.world.Ibcast(found, root=root)], f"others in bcast from rank {root}")

    def agree(self, given: Any, left: int, place: int = 0) -> None:
        part = sample(given)
        check_agreed(self._gathered(described(AGREED[left], part, 0, place), part), AGREED[left])

    def _gathered(self, what: str, given: Any) -> list[Any]:
        """The arrays of all ranks, which are short. Raises on all if they do not do the same."""
        head = np.frombuffer(hashlib.blake2b(what.encode(), digest_size=16).digest(), np.uint8)
        mine = np.concatenate([head, given.view(np.uint8)])
        all = np.empty((self.size, len(mine)), np.uint8)
        try:
            self._wait([self.world.Iallgather(mine, all)], f"others in {what}")
        except self.mpi.Exception as error:
            raise kinds.RANK_FAILED(f"ranks do not do the same: {error} in {what}") from None
        others = [k for k in range(self.size) if not np.array_equal(all[k, :16], head)]
        if others:
            done = f"rank {self.rank} does {what}, rank {others[0]} does not"
            raise kinds.RANK_FAILED(f"ranks do not do the same: {done}")
        return [row[16:].copy().view(given.dtype) for row in all]

    def _wait(self, begun: Sequence[Any], what: str) -> list[Any]:
        """Wait for requests; the status of each."""
        found = [self.mpi.Status() for _ in begun]
        turns, start = 0, time.monotonic()
        while not self.mpi.Request.Testall(begun, found):
            turns += 1
            if turns > TURNS:
                time.sleep(0.0 if turns < 20 * TURNS else 1e-4)
                if time.monotonic() - start > self.seconds:
                    raise kinds.RANK_FAILED(f"rank {self.rank} has waited {self.seconds:g} seconds for {what}")
        return found
