"""Loops that count their steps in the context of the run, so that progress can be shown:
``adc.backend.library.running``.

When a loop begins, it stores which loop it is, the first count, and the number of steps; when it ends, that all are
done. In between it stores its count only on request, where it polls: the word that it reads there is then not zero. So
counting costs nothing per step. Loops that do not poll do not count either.
"""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_loops import trip_count
from adc.backend.lowering.module_emitter import FIRST_LOOP, Counted
from adc.backend.support import contexts
from adc.ir.core import Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.steps import COUNTED


@dataclass(frozen=True)
class Counter:
    """The counter of one loop: the address of its count, the first count, and its trip count, if known."""

    e: FunctionEmitter
    done: str
    start: str
    trips: str

    def note(self, iterations: str) -> None:
        """Append code which stores that ``iterations`` iterations of the loop are done."""
        done = self.e.add(self.start, iterations)
        self.e.do(f"store atomic i64 {done}, ptr {self.done} monotonic, align 8")

    def note_at(self, subscript: str, lower: str, step: str) -> None:
        """Append code which stores that all iterations before this one are done."""
        e = self.e
        span = subscript if lower == "0" else e.let(f"sub i64 {subscript}, {lower}")
        self.note(span if step == "1" else e.let(f"udiv i64 {span}, {step}"))


def enter(e: FunctionEmitter) -> None:
    """Append what a function that runs some of the steps of a loop stores about its part: offset and total."""
    if COUNTED not in e.func.attrs or not e.module.effects.polls:
        return
    positions = e.func.attrs[COUNTED]
    first, *others = (e.scalar(e.func.args[k]) for k in positions)
    offset, total = first, "-1"
    if others:
        last, total = others
        offset = e.let(f"sub i64 {total}, {last}")
    for place, value in ((contexts.CONTEXT_OFFSET, offset), (contexts.CONTEXT_TOTAL, total)):
        e.do(f"store i64 {value}, ptr {_address(e, place)}, align 8")


def begin(e: FunctionEmitter, loop: Op, bounds: tuple[str, str, str] | None = None) -> Counter | None:
    """Append what a loop stores when it begins; None if it does not count. ``bounds`` are those of a ``scf.for``."""
    if COUNTED not in loop.attrs or not e.module.effects.polls:
        return None
    sweep, is_part = loop.attrs[COUNTED]
    trips = "" if bounds is None else trip_count(e, *bounds)
    start, total = "0", trips or "-1"
    if is_part:
        lower = "0" if bounds is None else bounds[0]
        total = e.let(f"load i64, ptr {_address(e, contexts.CONTEXT_TOTAL)}, align 8")
        offset = e.let(f"load i64, ptr {_address(e, contexts.CONTEXT_OFFSET)}, align 8")
        # A loop over the steps of the forward sweep counts from its lower bound; a reverse loop, and a while loop, from
        # zero.
        start = lower if sweep == "forward" and bounds is not None else e.add(offset, lower)
    own = contexts.CONTEXT_RUN + (32 if sweep == "reverse" else 8)
    name, done, count = (_address(e, own + 8 * k) for k in range(3))
    which = name_of(e, e.module.count(Counted(sweep, is_part, loop.loc)))
    e.do(f"store atomic i64 0, ptr {name} monotonic, align 8")
    e.do(f"store atomic i64 {start}, ptr {done} release, align 8")
    e.do(f"store atomic i64 {total}, ptr {count} release, align 8")
    e.do(f"store atomic ptr {which}, ptr {name} release, align 8")
    return Counter(e, done, start, trips)


def name_of(e: FunctionEmitter, number: int) -> str:
    """The name of a loop, which is an address: the main module defines the names of its units' loops, too."""
    if not e.module.is_unit:
        return f"getelementptr (i8, ptr @adc_counted, i64 {number})"
    return e.let(f"getelementptr i8, ptr {e.given(FIRST_LOOP, 'ptr')}, i64 {number}")


def _address(e: FunctionEmitter, offset: int) -> str:
    return e.let(f"getelementptr i8, ptr %ctx, i64 {offset}")
