"""What a gradient will take: predicted before it runs, for the memory that it may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adc.backend.calls.abi import Argument, Out, ScalarParam, Signature, TupleOut
from adc.compiler import Staged, Subject, compile_functions
from adc.frontend.abstract import Abstract
from adc.ir.core import Func, Module
from adc.ir.schedules import Schedule
from adc.options import Derivative
from adc.passes.checkpointing.budget import Chosen
from adc.passes.checkpointing.schedule import repeated_function
from adc.specialise import Specialisation

ALL = (1 << 63) - 1


@dataclass(frozen=True)
class LoopForecast:
    """One loop. A step stands for as many iterations as buffers take to be where they were: see docs/checkpointing.md.

    ``state``: bytes of a snapshot. ``tape``: bytes that a piece keeps for each step. At most ``snapshots`` are there at
    a time, pieces are of ``length`` steps; ``repeated`` steps are run again, with a tape or to come to where it begins.
    """

    line: int
    steps: int
    state: int
    tape: int
    snapshots: int
    length: int
    repeated: int

    def __str__(self) -> str:
        return (
            f"  line {self.line}: {self.steps} steps; state {_shown(self.state)}, tape {_shown(self.tape)} for each "
            f"step; {self.snapshots} snapshots, pieces of {self.length}; {self.repeated} steps run again"
        )


@dataclass(frozen=True)
class Outlook:
    """What a number of bytes buys: the peak, and the steps that are run again."""

    memory: int
    peak: int
    repeated: int


@dataclass(frozen=True)
class Forecast:
    """Of one call of a gradient: all that it allocates, itself included, in bytes.

    ``least`` is the least memory that would do. ``others``: what other numbers of bytes would buy.
    """

    function: str
    memory: int | None
    least: int
    peak: int
    loops: tuple[LoopForecast, ...]
    others: tuple[Outlook, ...]

    def __str__(self) -> str:
        allowed = "as much memory as it takes" if self.memory is None else f"at most {_shown(self.memory)}"
        lines = [f"gradient of {self.function} with {allowed}: peak {_shown(self.peak)}", *map(str, self.loops)]
        if self.others:
            lines += ["", f"  {'memory':>10} {'peak':>10} {'steps run again':>16}"]
            lines += [f"  {_shown(o.memory):>10} {_shown(o.peak):>10} {o.repeated:>16}" for o in self.others]
        return "\n".join(lines)

    __repr__ = __str__


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
    """Of the call of the gradient with ``values``. Raises ``ArgumentError`` if it is not known before what it takes."""
    given = subject.options.checkpoint
    memory = given.memory if given is not None and given.memory else None
    options = replace(subject.options, checkpoint=Schedule(0, 0, memory or ALL))
    staged = Staged(replace(subject, options=options), abstracts)
    traced, wanted = staged.traced_for(derivative.chain, has_aux=derivative.has_aux)
    leaves = Specialisation(staged, traced).leaf_values(values)
    module, adjoint = staged.gradient(traced, wanted, with_value=True, clears=True)
    module = staged.prepared(module)
    chosen = staged.keep_to_memory(module, adjoint.name)
    assert chosen is not None
    sizes = _sizes(module.funcs[adjoint.name], leaves)
    return _Forecasting(staged, module, chosen, sizes).made(subject.name, memory)


def _sizes(func: Func, leaves: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for k, attrs in enumerate(func.arg_attrs):
        value = leaves[attrs["adc.shadow"]] if "adc.shadow" in attrs else leaves[k]
        found += value.shape if isinstance(value, np.ndarray) else [value]
    return found


class _Forecasting:
    def __init__(self, staged: Staged, module: Module, chosen: Chosen, sizes: Sequence[Any]) -> None:
        names = [chosen.footprint, chosen.search, repeated_function(module)]
        signatures = [_plain(module.funcs[name]) for name in names]
        self._measure, self._search, self._repeats = compile_functions(staged, module, signatures, _no_other)
        self._lines = [module.funcs[name].loc.line for name in chosen.loops]
        self._sizes = [float(v) if isinstance(v, np.floating | float) else int(v) for v in sizes]

    def made(self, name: str, memory: int | None) -> Forecast:
        frugal = (1, 1) * len(self._lines)
        least, *_ = self._footprint(frugal)
        schedule = self._schedule(memory or ALL)
        peak, *steps = self._footprint(schedule)
        loops = tuple(self._loop(k, schedule, steps[k]) for k in range(len(self._lines)))
        budgets: list[int] = []
        while self._lines and len(budgets) < 12:
            budgets.append(int(least * 2 ** (len(budgets) / 2)) + (len(budgets) > 0))
            if self._peak(budgets[-1]) >= self._peak(ALL):
                break
        others = tuple(Outlook(b, self._peak(b), self._repeated(self._schedule(b))) for b in budgets)
        return Forecast(name, memory, least, peak, loops, others)

    def _footprint(self, schedule: Sequence[int]) -> list[int]:
        return list(self._measure(*self._sizes, *schedule))

    def _schedule(self, memory: int) -> tuple[int, ...]:
        if not self._lines:
            return ()
        return tuple(self._search(*self._sizes, memory))

    def _peak(self, memory: int) -> int:
        return self._footprint(self._schedule(memory))[0]

    def _loop(self, k: int, schedule: Sequence[int], steps: int) -> LoopForecast:
        def peak(snapshots: int, length: int) -> int:
            return self._footprint([*schedule[: 2 * k], snapshots, length, *schedule[2 * k + 2 :]])[0]

        snapshots, length = schedule[2 * k : 2 * k + 2]
        return LoopForecast(
            self._lines[k],
            steps,
            (peak(steps, 1) - peak(1, 1)) // (steps - 1) if steps > 1 else 0,
            (peak(1, steps) - peak(1, steps // 2)) // (steps - steps // 2) if steps > 1 else 0,
            snapshots,
            length,
            self._again(steps, snapshots, length),
        )

    def _repeated(self, schedule: Sequence[int]) -> int:
        _, *steps = self._footprint(schedule)
        return sum(self._again(n, *schedule[2 * k : 2 * k + 2]) for k, n in enumerate(steps))

    def _again(self, steps: int, snapshots: int, length: int) -> int:
        """Each step is run once more, with a tape; and those before where pieces begin, as the schedule says."""
        pieces = -(-steps // length)
        (repeated,) = self._repeats(pieces, snapshots)
        return steps + int(repeated) * length


def _plain(func: Func) -> Signature:
    """Of a function that takes and returns numbers."""
    arguments = (None,) * len(func.args)
    params = tuple(ScalarParam(Argument((k,)), arg.type) for k, arg in enumerate(func.args))
    output = TupleOut(tuple(Out(k) for k in range(len(func.result_types))))
    return Signature(func.name, arguments, params, tuple(func.result_types), output)


def _no_other(*args: Any) -> Any:
    raise TypeError(f"these are numbers of other types: {args}")
