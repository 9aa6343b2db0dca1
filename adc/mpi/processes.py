"""Ranks as processes, with the package ``mpi4py``.

All waiting is done by polling, so that Ctrl-C works. With ``ADC_MPI_TIMEOUT`` seconds in the environment, a wait for
something that never comes ends with ``RankError``. An unhandled exception ends all processes, because the others would
wait for ever.
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
from dataclasses import field
from typing import Any

import numpy as np

from adc.ir import kinds, messages
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import (
    AGREED,
    NOBODY,
    Communicator,
    Single,
    check_agreed,
    check_lengths,
    check_parts,
    check_ranks,
    check_root,
    described,
    sample,
)

HEAD, ROOM = 16, 240  # bytes of the digest of what a rank does, and of short arrays sent with it
SMALL = 65536  # up to so many bytes in all, each rank gathers all parts and sums them in order
TURNS = 200  # polls without a pause


def find() -> None:
    """Let this process connect to the others when it first needs them."""
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


_FORWARDING = 0.2  # seconds in which mpiexec passes on what was written: when a rank aborts, it drops what is left


def _abort_on_exceptions(world: Any) -> None:
    before = sys.excepthook

    def hook(*error: Any) -> None:
        before(*error)
        sys.stderr.flush()
        time.sleep(_FORWARDING)
        world.Abort(1)

    sys.excepthook = hook


@dataclass
class Processes:
    """The ranks of a communicator of mpi4py; see ``adc.ir.messages.Communicator``."""

    mpi: Any
    world: Any
    rank: int = field(init=False)
    size: int = field(init=False)
    abandoned: list[Any] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        text = os.environ.get("ADC_MPI_TIMEOUT", "")
        self.seconds = float(text) if text else float("inf")

    def exchange(self, sent: Any, received: Any, dest: int, source: int, tag: int) -> None:
        check_ranks(self.size, dest, source)
        if dest == NOBODY and source == NOBODY:
            return
        begun = []
        # One byte more than needed, so that a message that is too long is detected.
        room = np.empty(received.nbytes + 1, np.uint8)
        if source != NOBODY:
            begun.append(self.world.Irecv([room, self.mpi.BYTE], source=source, tag=tag))
        if dest != NOBODY:
            begun.append(self.world.Issend([sent.view(np.uint8).copy(), self.mpi.BYTE], dest=dest, tag=tag))
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
        parts = self._gathered(what, given)
        if parts is None and given.nbytes * self.size <= SMALL:
            parts = self._all(given, what)
        if parts is not None:
            total[:] = parts[0]
            for part in parts[1:]:
                total += part
            return
        found = self._summed_to(0, given, what)
        self._wait([self.world.Ibcast(found, root=0)], f"others in {what}")
        total[:] = found

    def allgather(self, given: Any, all: Any, role: int = 0, place: int = 0) -> None:
        what = described("allgather", given, role, place)
        parts = self._gathered(what, given)
        all[:] = np.concatenate(self._all(given, what) if parts is None else parts)

    def bcast(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        what = described(f"bcast from rank {root}", given, role, place)
        parts = self._gathered(what, given)
        if parts is not None:
            found[:] = parts[root]
            return
        sent = given.copy()
        self._wait([self.world.Ibcast(sent, root=root)], f"others in {what}")
        found[:] = sent

    def reduce(self, given: Any, total: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        what = described(f"reduce to rank {root}", given, role, place)
        parts, here = self._gathered(what, given), self.rank == root
        found = self._summed_to(root, given, what) if parts is None else sum(parts[1:], parts[0])
        total[:] = found if here else 0

    def gather(self, given: Any, all: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        what = described(f"gather to rank {root}", given, role, place)
        parts, here = self._gathered(what, given), self.rank == root
        if parts is None:
            found = np.empty((self.size, len(given)), given.dtype) if here else None
            self._wait([self.world.Igather(given.copy(), found, root=root)], f"others in {what}")
            parts = list(found) if found is not None else []
        if here:
            all[:] = np.concatenate(parts)

    def scatter(self, given: Any, found: Any, root: int, role: int = 0, place: int = 0) -> None:
        check_root(self.size, root)
        if self.rank == root:
            check_parts(self.size, given, found)
        what = described(f"scatter from rank {root}", found, role, place)
        self._gathered(what, found[:0])
        part, sent = np.empty_like(found), given.copy() if self.rank == root else None
        self._wait([self.world.Iscatter(sent, part, root=root)], f"others in {what}")
        found[:] = part

    def agree(self, given: Any, left: int, place: int = 0) -> None:
        part = sample(given)
        what = described(AGREED[left], part, 0, place)
        check_agreed(self._gathered(what, part) or self._all(part, what), AGREED[left])

    def _summed_to(self, root: int, given: Any, what: str) -> Any:
        """An array that holds the sum on the root. Requests for sums do not keep their send buffer alive."""
        sent, found = given.copy(), np.empty_like(given)
        self._wait([self.world.Ireduce(sent, found, op=self.mpi.SUM, root=root)], f"others in {what}", sent)
        return found

    def _gathered(self, what: str, given: Any) -> list[Any] | None:
        """The arrays of all ranks if they are short, else None. A digest of the operation is sent along; if ranks do
        different operations, all raise. All messages have the same size, whatever the arrays are."""
        head = np.frombuffer(hashlib.blake2b(what.encode(), digest_size=HEAD).digest(), np.uint8)
        mine = np.zeros(HEAD + ROOM, np.uint8)
        mine[:HEAD] = head
        if given.nbytes <= ROOM:
            mine[HEAD : HEAD + given.nbytes] = given.view(np.uint8)
        rows = self._all(mine, what)
        others = [k for k, row in enumerate(rows) if not np.array_equal(row[:HEAD], head)]
        if others:
            done = f"rank {self.rank} does {what}, rank {others[0]} does not"
            raise kinds.RANK_FAILED(f"ranks do not do the same: {done}")
        if given.nbytes > ROOM:
            return None
        return [row[HEAD : HEAD + given.nbytes].copy().view(given.dtype) for row in rows]

    def _all(self, given: Any, what: str) -> list[Any]:
        """The arrays of all ranks, which have the same length."""
        found = np.empty((self.size, len(given)), given.dtype)
        self._wait([self.world.Iallgather(given, found)], f"others in {what}")
        return list(found)

    def _wait(self, begun: Sequence[Any], what: str, *sent: Any) -> list[Any]:
        """Wait for requests, and return the status of each. After an interrupt their buffers are kept, because data may
        still arrive.

        ``sent``: buffers that the requests do not keep alive themselves.
        """
        found = [self.mpi.Status() for _ in begun]
        turns, start = 0, time.monotonic()
        try:
            while not self.mpi.Request.Testall(begun, found):
                turns += 1
                if turns > TURNS:
                    time.sleep(0.0 if turns < 20 * TURNS else 1e-4)
                    if time.monotonic() - start > self.seconds:
                        raise kinds.RANK_FAILED(f"rank {self.rank} has waited {self.seconds:g} seconds for {what}")
        except BaseException:
            self.abandoned += (*begun, *sent)
            raise
        return found
