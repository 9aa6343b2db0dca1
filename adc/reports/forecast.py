"""Predicts the memory and work of a gradient before it runs, given the memory that it may use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from adc.border.options import Derivative
from adc.driver import numbers
from adc.driver.budgeted import too_little
from adc.driver.compiler import Staged
from adc.driver.specialise import Specialisation
from adc.driver.subject import Subject
from adc.errors import OutOfMemoryError
from adc.frontend.abstract import Abstract
from adc.frontend.traced import Traced
from adc.ir.core import Module
from adc.ir.known import forget
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import Schedule
from adc.passes.checkpointing import prices
from adc.passes.checkpointing.schedule import FRUGAL, WIDTH, repeated_function

ALL = (1 << 63) - 1


@dataclass(frozen=True)
class LoopForecast:
    """The forecast for one loop. A step is the number of iterations after which swapped buffers are back in place: see
    docs/checkpointing.md.

    ``state``: bytes of a snapshot. ``tape``: bytes that a piece keeps for each step. At most ``snapshots`` exist at a
    time, including those on disk; pieces have ``length`` steps; ``repeated`` steps are run again, to record a tape or
    to reach the beginning of a piece. No snapshots: there is no schedule, and one tape for all steps. ``known``:
    whether the number of steps is known before the loop runs; if not, ``steps``, ``tape`` and ``repeated`` are 0.
    ``shared``: the bytes that snapshots and the tape of a piece have together; pieces then have at most ``length``
    steps. 0: snapshots and tape have separate memory.
    """

    line: int
    steps: int
    state: int
    tape: int
    snapshots: int
    length: int
    repeated: int
    known: bool = True
    shared: int = 0

    def __str__(self) -> str:
        if not self.known:
            kept = f"{self.snapshots} snapshots" if self.snapshots else "all on one tape"
            return f"  line {self.line}: until it ends; state {_shown(self.state)}; {kept}"
        each = f"state {_shown(self.state)}, tape {_shown(self.tape)} for each step"
        if not self.snapshots:
            return f"  line {self.line}: {_count(self.steps)}; {each}; all on one tape"
        kept = f"{self.snapshots} snapshots, pieces of {_count(self.length)}"
        if self.shared:
            kept = f"at most {self.snapshots} snapshots and tapes of {_count(self.length)} share {_shown(self.shared)}"
        return f"  line {self.line}: {_count(self.steps)}; {each}; {kept}; {_count(self.repeated)} run again"


@dataclass(frozen=True)
class Outlook:
    """The effect of an amount of memory, in bytes: the peak, and the repeated steps of loops whose length is known."""

    memory: int
    peak: int
    repeated: int


@dataclass(frozen=True)
class Forecast:
    """The memory of one call of a gradient, in bytes: all that it allocates, including the gradient itself.

    ``memory`` is the limit, or ``schedule`` the given schedule. ``least`` is the least memory that is enough, ``whole``
    the memory without a schedule, ``peak`` that of this call (None: not known in advance). ``others``: the effect of
    other amounts of memory.
    """

    function: str
    memory: int | None
    schedule: Schedule | None
    least: int
    whole: int | None
    peak: int | None
    loops: tuple[LoopForecast, ...]
    others: tuple[Outlook, ...]

    def __str__(self) -> str:
        allowed = "with as much memory as it takes" if self.memory is None else f"with at most {_shown(self.memory)}"
        if self.schedule is not None:
            allowed = "by the schedule that is given"
        peak = "not known in advance" if self.peak is None else _shown(self.peak)
        lines = [f"gradient of {self.function} {allowed}: peak {peak}", *map(str, self.loops)]
        if self.others:
            known = any(loop.known for loop in self.loops)
            lines += ["", f"  {'memory':>10} {'peak':>10}" + f" {'steps run again':>16}" * known]
            for o in self.others:
                lines.append(f"  {_shown(o.memory):>10} {_shown(o.peak):>10}" + f" {o.repeated:>16}" * known)
        return "\n".join(lines)

    __repr__ = __str__


def _count(steps: int) -> str:
    return f"{steps} step{'s' if steps != 1 else ''}"


def _shown(number: int) -> str:
    value, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"


def forecast(
    subject: Subject, abstracts: tuple[Abstract, ...], values: tuple[Any, ...], derivative: Derivative
) -> Forecast:
    """The forecast for a call of the gradient with ``values``. Raises ``ArgumentError`` if its memory is not known in
    advance."""
    given = subject.options.checkpoint
    memory = given.memory if given is not None and given.memory else None
    whole = _kept(subject, abstracts, derivative, None, _Size).of(values)
    # Its functions are told the memory when they are called.
    code = _kept(subject, abstracts, derivative, Schedule(0, 0, ALL), _Scheduled)
    found = _Forecasting(code, code.sizes(values, shadows=True))
    if given is None or memory:
        return found.made(subject.name, memory, whole)
    return found.by(subject.name, given, _kept(subject, abstracts, derivative, given, _Size).of(values), whole)


S = TypeVar("S", bound="_Sized")


def _kept(
    subject: Subject,
    abstracts: tuple[Abstract, ...],
    derivative: Derivative,
    schedule: Schedule | None,
    kind: Callable[[_Final], S],
) -> S:
    """What is known of a schedule from the last forecast with it, if that was for the same types."""

    def make() -> tuple[Traced, S]:
        final = _Final(subject, abstracts, derivative, schedule)
        return final.traced, kind(final)

    with subject.lock:
        found: S = subject.forecasts.value(schedule, (abstracts, derivative), make)
        return found


class _Final:
    """The gradient's final code, with or without a schedule."""

    def __init__(
        self, subject: Subject, abstracts: tuple[Abstract, ...], derivative: Derivative, schedule: Schedule | None
    ) -> None:
        options = replace(subject.options, checkpoint=schedule)
        self.staged = Staged(replace(subject, options=options), abstracts, whole=True)
        self.traced, wanted = self.staged.traced_for(derivative.chain, has_aux=derivative.has_aux)
        module, adjoint = self.staged.gradient(self.traced, wanted, with_value=True, clears=True)
        self.module = self.staged.prepared(module, [adjoint.name])
        self.func = self.module.funcs[adjoint.name]


class _Sized:
    """What arguments determine about final code."""

    def __init__(self, final: _Final) -> None:
        self.staged, self.traced = final.staged, replace(final.traced, module=Module({}))
        self._func = final.func

    def sizes(self, values: tuple[Any, ...], *, shadows: bool) -> list[int | float]:
        leaves = Specialisation(self.staged, self.traced).leaf_values(values)
        return numbers.sizes(self._func, leaves, shadows=shadows)


class _Size(_Sized):
    """The memory that the gradient takes without or with a given schedule."""

    def __init__(self, final: _Final) -> None:
        super().__init__(final)
        self._measure: Any = None
        module = final.module
        if not final.traced.alias_groups and (size := self.staged.workspace(module, final.func.name, None)) is not None:
            (self._measure,) = numbers.compiled(self.staged, module, [size.name])
        forget(module)

    def of(self, values: tuple[Any, ...]) -> int | None:
        """None if it is not known in advance."""
        return None if self._measure is None else int(self._measure(*self.sizes(values, shadows=False))[0])


class _Scheduled(_Sized):
    """The functions that choose the schedules of all loops."""

    def __init__(self, final: _Final) -> None:
        super().__init__(final)
        module = final.module
        chosen = self.staged.keep_to_memory(module, final.func.name)
        assert chosen is not None
        names = [chosen.footprint, chosen.search, repeated_function(module), prices.repeated_function(module)]
        self.functions = numbers.compiled(self.staged, module, names)
        self.open = chosen.open_loops
        self.lines = [module.funcs[name].loc.line for name in chosen.loops]
        forget(module)


def _pieces(schedule: Schedule, steps: int) -> tuple[int, int]:
    """The number of snapshots, and of steps in a piece, for a loop of ``steps`` steps."""
    length = min(schedule.steps or math.isqrt(max(steps, 1) - 1) + 1, max(steps, 1))
    pieces = max(-(-steps // length), 1)
    return min(pieces, schedule.snapshots + schedule.disk) if schedule.snapshots else pieces, length


def _on_one_tape(loop: LoopForecast) -> LoopForecast:
    """The forecast of a loop without a schedule."""
    return replace(loop, snapshots=0, repeated=0, length=loop.steps if loop.known else loop.length, shared=0)


class _Forecasting:
    def __init__(self, code: _Scheduled, sizes: Sequence[float]) -> None:
        self._measure, self._search, self._repeats, self._shared = code.functions
        self._open, self._lines = code.open, code.lines
        self._sizes = sizes
        self._frugal = FRUGAL * len(self._lines)

    def made(self, name: str, memory: int | None, whole: int | None) -> Forecast:
        least, *_ = self._footprint(self._frugal)
        fits = memory is None or (whole is not None and whole <= memory)
        try:
            schedule = self._schedule(ALL if memory is None or fits else memory)
        except OutOfMemoryError as error:
            raise too_little(error, whole) from None
        found, *steps = self._footprint(schedule)
        peak: int | None = found if memory is None else min(found, memory)
        loops = tuple(self._loop(k, schedule, steps[k]) for k in range(len(self._lines)))
        if whole is not None:
            least = min(least, whole)
        if fits:
            peak, loops = whole, tuple(map(_on_one_tape, loops))
        return Forecast(name, memory, None, least, whole, peak, loops, self._others(least, whole))

    def by(self, name: str, given: Schedule, peak: int | None, whole: int | None) -> Forecast:
        """The forecast for a given schedule without a memory limit; ``peak`` is that of its code, if known."""
        least, *steps = self._footprint(self._frugal)
        # A loop of unknown length that cannot have the schedule has none; see
        # ``adc.passes.checkpointing.outline_steps``.
        refused = given.steps != 1 or given.disk > 0
        pairs = [
            (given.snapshots, 1) if is_open else _pieces(given, n) for is_open, n in zip(self._open, steps, strict=True)
        ]
        schedule = tuple(number for pair in pairs for number in (*pair, *FRUGAL[2:]))
        loops = tuple(
            replace(loop, snapshots=0) if refused and not loop.known else loop
            for loop in (self._loop(k, schedule, steps[k]) for k in range(len(self._lines)))
        )
        least = least if whole is None else min(least, whole)
        return Forecast(name, None, given, least, whole, peak, loops, self._others(least, whole))

    def _others(self, least: int, whole: int | None) -> tuple[Outlook, ...]:
        """The effect of amounts of memory that grow by factors of the square root of two, until more makes no
        difference."""
        found: list[Outlook] = []
        fewest = self._repeated(self._schedule(ALL))
        while self._lines and len(found) < 12:
            budget = int(least * 2 ** (len(found) / 2)) + (len(found) > 0)
            if whole is not None and whole <= budget:
                break
            found.append(Outlook(budget, self._peak(budget), self._repeated(self._schedule(budget))))
            if found[-1].peak >= self._peak(ALL) or (fewest and found[-1].repeated == fewest):
                break
        if whole is not None:
            found.append(Outlook(whole, whole, 0))
        return tuple(found)

    def _footprint(self, schedule: Sequence[int]) -> list[int]:
        """The peak, and the number of steps of each loop."""
        return list(self._measure(*self._sizes, *schedule))[: 1 + len(self._lines)]

    def _schedule(self, memory: int) -> tuple[int, ...]:
        if not self._lines:
            return ()
        return tuple(self._search(*self._sizes, memory))

    def _peak(self, memory: int) -> int:
        # The model of leaves that share memory takes a little more than they really do.
        return min(self._footprint(self._schedule(memory))[0], memory)

    def _loop(self, k: int, schedule: Sequence[int], steps: int) -> LoopForecast:
        def peak(snapshots: int, length: int) -> int:
            frugal = [*self._frugal]
            frugal[WIDTH * k : WIDTH * k + 2] = snapshots, length
            return self._footprint(frugal)[0]

        snapshots, length, room, _, tape = own = schedule[WIDTH * k : WIDTH * (k + 1)]
        if self._open[k]:
            return LoopForecast(self._lines[k], 0, peak(2, 1) - peak(1, 1), 0, snapshots, length, 0, known=False)
        return LoopForecast(
            self._lines[k],
            steps,
            (peak(steps, 1) - peak(1, 1)) // (steps - 1) if steps > 1 else 0,
            (peak(1, steps) - peak(1, steps // 2)) // (steps - steps // 2) if steps > 1 else 0,
            snapshots,
            min(room // tape, steps) if room else length,
            self._again(steps, own),
            shared=room,
        )

    def _repeated(self, schedule: Sequence[int]) -> int:
        _, *steps = self._footprint(schedule)
        each = (schedule[WIDTH * k : WIDTH * (k + 1)] for k in range(len(steps)))
        return sum(self._again(n, own) for n, own, is_open in zip(steps, each, self._open, strict=True) if not is_open)

    def _again(self, steps: int, schedule: Sequence[int]) -> int:
        """The number of repeated steps: each step once more, with a tape, and as many steps to reach the pieces as the
        schedule needs."""
        snapshots, length, room, state, tape = schedule
        if room:
            return steps + int(self._shared(steps, snapshots, room, state, tape)[0])
        pieces = -(-steps // length)
        (repeated,) = self._repeats(pieces, snapshots)
        return steps + int(repeated) * length
