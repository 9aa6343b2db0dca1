"""The progress of the sweeps of running calls, from samples of the progress of their loops.

If a loop begins again in the same call, or several loops are in one line, steps continue to be counted from the end of
the loop before: the number of steps done only grows. In the reverse sweep of a loop with a schedule, forward steps are
run again; there only the reversed steps count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from adc.backend.running import Count, Loop, Run
from adc.ir.lazy_dataclass import dataclass


@dataclass
class Sweep:
    """One sweep over the loops in one line: steps done, and all steps (None: not known in advance)."""

    loop: Loop
    total: int | None
    done: int = 0
    _before: int = 0  # steps of loops that have ended
    _own: int = 0  # steps of the current loop
    _parts: set[Loop] = field(default_factory=set)  # loops with a schedule seen so far
    _repeats: bool = False  # whether the current loop repeats one of these

    def see(self, count: Count) -> None:
        loop = count.loop
        # A part that is run again is not a new loop: it is a forward loop, and a sample may miss the start of the
        # reverse sweep.
        same = loop is self.loop or (loop.is_part and self.loop.is_part)
        again = count.done < self._own and not (loop.is_part and loop.sweep == "forward")
        if not same or again:
            if self._repeats:
                self._before += self._own
            else:
                self._before = self.total if self.total is not None else self.done
            self._own = 0
            # The reverse sweep may have begun, with steps that are run again. If it is another run of the loop in the
            # same sweep, its steps are counted when something after the loop is seen.
            self._repeats = loop.sweep == "forward" and loop in self._parts
        if loop.is_part:
            self._parts.add(loop)
        self.loop = loop
        self._own = max(self._own, count.done)
        if self._repeats:
            return
        self.done = max(self.done, self._before + self._own)
        self.total = None if count.total is None else self._before + count.total

    def finish(self, count: Count | None) -> None:
        """The sweep is over. ``count`` is that of repeated steps; if they belong to this sweep, it has the total."""
        if self.total is None and count is not None and count.loop.is_part and count.loop.loc == self.loop.loc:
            self.total = count.total
        if self.total is not None:
            self.done = self.total


@dataclass
class Call:
    """A call: its number, the time when it was first seen, whether it goes on, and its sweeps in the order of
    appearance."""

    number: int
    since: float
    place: int
    goes_on: bool = True
    sweeps: dict[tuple[str, str, int, str], Sweep] = field(default_factory=dict)

    def see(self, run: Run) -> None:
        self.goes_on = run.goes_on
        if run.forward is not None and (run.reverse is None or not run.forward.loop.is_part):
            self._see(run.forward)
        if run.reverse is not None:
            for sweep in self.sweeps.values():
                if sweep.loop.sweep == "forward":
                    sweep.finish(run.forward)
            self._see(run.reverse)

    def _see(self, count: Count) -> None:
        loop = count.loop
        key = loop.function, loop.loc.file, loop.loc.line, loop.sweep
        if key not in self.sweeps:
            self.sweeps[key] = Sweep(loop, count.total)
        self.sweeps[key].see(count)


class Calls:
    """The running calls. Each has a ``place``, the lowest free number; successive calls of one thread have the same."""

    def __init__(self) -> None:
        self.known: dict[int, Call] = {}

    def see(self, runs: Iterable[Run], now: float) -> list[Call]:
        """The calls in a sample of all runs, some of which may have ended."""
        found = []
        for run in runs:
            call = self.known.get(run.number)
            if call is None:
                taken = {c.place for c in self.known.values()}
                call = self.known[run.number] = Call(run.number, now, min(set(range(len(taken) + 1)) - taken))
            call.see(run)
            found.append(call)
            if not call.goes_on:
                del self.known[call.number]
        seen = {call.number for call in found}
        self.known = {number: call for number, call in self.known.items() if number in seen}
        return found
