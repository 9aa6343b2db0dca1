"""The first lines of a report: what a gradient costs, in words that need no knowledge of adc's internals."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Protocol

from adc.ir.lazy_dataclass import dataclass
from adc.passes.differentiation.storage.kept import ITS_ELEMENTS, Kept
from adc.passes.plans import LoopPlan, ShadowPlan
from adc.reports.report_details import in_words, name_in_words, type_in_words

_SHOWN = 4  # lines of the source that are listed


@dataclass(frozen=True)
class Measured:
    """Measurements: seconds for a call and for its gradient (the minimum of several runs), and the most bytes that the
    gradient allocates, if known in advance."""

    value_seconds: float
    gradient_seconds: float
    peak_bytes: int | None


@dataclass(frozen=True)
class Stored:
    """A value that the forward sweep keeps for the reverse sweep. ``times`` says in words how often; empty for once.

    ``factors`` multiply ``bytes``: numbers, and names of quantities known at run time. ``refers``: the value is a
    reference to an existing array; ``bytes`` are those of its address and shape.
    """

    line: int
    name: str
    type: str
    bytes: int
    times: str
    factors: tuple[int | str, ...] = ()
    refers: bool = False

    @property
    def size(self) -> str:
        """Its size each time, in words."""
        return "the array itself" if self.refers else f"{self.bytes} bytes"

    @property
    def each(self) -> str:
        """How often it is stored, in short."""
        loops = re.findall(r"iterations of the loop in line (\d+)", self.times)
        of = "an element, " if ITS_ELEMENTS in self.times else ""
        return f"{of}in each iteration of {_lines(map(int, loops))}" if loops else self.times


class Planned(Protocol):
    """What a summary says in words: the fields and plans of ``Report``."""

    @property
    def function(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def with_respect_to(self) -> tuple[str, ...]: ...
    @property
    def steps(self) -> Sequence[object]: ...
    @property
    def seconds(self) -> Mapping[str, float]: ...
    @property
    def measured(self) -> Measured | None: ...
    @property
    def simd(self) -> tuple[int, ...] | None: ...
    def loops(self) -> list[LoopPlan]: ...
    def sums(self) -> list[ShadowPlan]: ...
    def stored(self) -> list[Stored]: ...


def stored(values: Iterable[Kept], names: Mapping[str, str] = MappingProxyType({})) -> list[Stored]:
    """The stored values, each once; those that probably take most memory come first. ``names`` maps names in the plan
    to those in the program."""
    found: dict[tuple[int, str], Stored] = {}
    for kept in values:
        key = kept.line, kept.name or kept.made_by
        if not kept.checked and (key not in found or found[key].bytes < kept.bytes):
            name = names.get(kept.name) or name_in_words(kept)
            factors = tuple(
                f"elements of {name.split(' ')[0]}" if f == ITS_ELEMENTS else in_words(f) if isinstance(f, str) else f
                for f in kept.extents
            )
            times = in_words(" x ".join(map(str, kept.extents)))
            found[key] = Stored(kept.line, name, type_in_words(kept.type), kept.bytes, times, factors, kept.refers)
    return sorted(
        found.values(), key=lambda s: (ITS_ELEMENTS in s.times or s.refers, s.times.count("iterations")), reverse=True
    )


def measure(value: Callable[..., Any], gradient: Callable[..., Any], peak: int | None, args: Sequence[Any]) -> Measured:
    """Time a function and its gradient with copies of the arguments; each is compiled first."""

    def seconds(call: Callable[..., Any]) -> float:
        call(*copy.deepcopy(args))
        best, spent = float("inf"), 0.0
        while spent < 0.2:
            given = copy.deepcopy(args)
            start = time.perf_counter()
            call(*given)
            took = time.perf_counter() - start
            best, spent = min(best, took), spent + max(took, 1e-5)
        return best

    return Measured(seconds(value), seconds(gradient), peak)


def summary(report: Planned) -> list[str]:
    """The summary of a report, in at most ten lines."""
    loops = report.loops()
    lines = [f"{report.what} of {report.function} by {', '.join(report.with_respect_to)}", _time(report)]
    lines += [_tape(report), _memory(report), _threads(loops), _simd(report)]
    lines = [f"  {line}" if k else line for k, line in enumerate(lines) if line]
    return [*lines, *(f"  advice: {text}" for text in advice(report)[:3])]


def _time(report: Planned) -> str:
    compiling = f"compiling took {_seconds(sum(report.seconds.values()))} before LLVM"
    m = report.measured
    if m is None:
        return f"time: {compiling}; report(call=(...)) measures a run"
    ratio = m.gradient_seconds / m.value_seconds if m.value_seconds else 0.0
    return (
        f"time: a call {_seconds(m.value_seconds)}, its {report.what} {_seconds(m.gradient_seconds)} "
        f"({ratio:.1f} times); {compiling}"
    )


def _tape(report: Planned) -> str:
    found = report.stored()
    if not found:
        return "tape: nothing is stored; the reverse sweep computes again what it needs"
    each = "; ".join(f"{s.name} of line {s.line} ({f'{s.size} {s.each}'.strip()})" for s in found[:2])
    more = f" and {len(found) - 2} more" if len(found) > 2 else ""
    return f"tape: {len(found)} value{'s' * (len(found) > 1)} stored: {each}{more}"


def _memory(report: Planned) -> str:
    if report.measured is None or report.measured.peak_bytes is None:
        return ""
    return f"memory: the {report.what} allocates at most {shown_bytes(report.measured.peak_bytes)}"


def _threads(loops: Sequence[LoopPlan]) -> str:
    """The outermost loops of those nests of the gradient that run on threads, in words."""
    if not loops:
        return "threads: there are no loops"
    on = {p.loc.line for p in loops if p.kind == "threads"} - _in_order(loops)
    outer = {p.loc.line: p.reason for p in loops if p.depth == 0 and p.kind == "sequential" and p.loc.line not in on}
    text = f"threads: loops of {_lines(on)}" if on else "threads: no loop runs on threads"
    why = in_words(next((reason for reason in outer.values() if reason and "carries a" not in reason), ""))
    return text + (f"; in order: {_lines(outer)}{f' ({why})' if why else ''}" if outer else "")


def _in_order(loops: Sequence[LoopPlan]) -> set[int]:
    """Lines of sequential loops around others. Other loops in these lines, such as a search for the largest subscript,
    are not loops of the program."""
    found = set()
    for k, p in enumerate(loops):
        inner = list(takewhile(lambda q: q.depth > 0, loops[k + 1 :])) if p.depth == 0 else []
        if p.kind == "sequential" and inner and all(q.loc.line != p.loc.line for q in inner):
            found.add(p.loc.line)
    return found


def _simd(report: Planned) -> str:
    if report.simd is None:
        return ""
    return f"SIMD: loops of {_lines(report.simd)}" if report.simd else "SIMD: LLVM made no loop SIMD"


def advice(report: Planned) -> list[str]:
    """What may be slow, and what to do about it."""
    found = []
    m = report.measured
    looped = [s for s in report.stored() if s.times]
    if looped and not report.steps and (m is None or m.peak_bytes is None or m.peak_bytes > 1 << 28):
        found.append(
            f"{looped[0].name} of line {looped[0].line} is stored {looped[0].each.removeprefix('an element, ')}; "
            "if memory is short: jit_grad(memory='1GB')"
        )
    serial = [s for s in report.sums() if s.kind == "serial"]
    if serial:
        found.append(
            f"line {serial[0].loc.line} adds to {serial[0].shadow or 'one array'} one iteration at a time"
            + (f" ({in_words(serial[0].reason)})" if serial[0].reason else "")
        )
    own = [p for p in report.loops() if p.depth == 0 and p.counter]  # loops of reverse sweeps have no counter
    outer = [p for p in own if p.kind == "sequential" and "carries" in p.reason]
    if outer and not any(p.kind == "threads" for p in report.loops()):
        p = outer[0]
        why = in_words(p.reason)
        found.append(f"line {p.loc.line} runs on one thread, since it {why}; loops without that run on threads")
    if m is not None and m.gradient_seconds > 10 * m.value_seconds and m.value_seconds > 1e-5:
        found.append("the gradient takes over 10 times the call; adc explore shows what its sweeps do, line by line")
    return found


def _lines(numbers: Any) -> str:
    listed = sorted(set(numbers))
    shown = ", ".join(map(str, listed[:_SHOWN])) + (f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else "")
    return f"line{'s' * (len(listed) > 1)} {shown}"


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def shown_bytes(value: int) -> str:
    """A number of bytes, with its unit."""
    number, unit = float(value), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:.3g} {unit}"
