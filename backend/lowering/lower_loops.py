"""The shape of a loop in LLVM IR: rotated, guarded, with a counter that scalar evolution understands."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from adc.backend.lowering.along import goes_along_arrays
from adc.backend.lowering.lower_effects import is_ragged
from adc.backend.lowering.lower_emitter import Calls, FunctionEmitter, Operand
from adc.backend.partial_sums import CHAINS
from adc.ir.core import Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import BY_LANES, PEELED, TRIPS
from adc.ir.types import Type

FEW = ('!{!"llvm.loop.vectorize.enable", i1 false}', '!{!"llvm.loop.unroll.disable"}')
"""Hints for a loop of few iterations."""
IN_REGISTERS = ('!{!"llvm.loop.unroll.disable"}', '!{!"llvm.loop.vectorize.followup_all", !{!"llvm.loop.unroll.full"}}')
"""Hints for a loop over a small buffer, which becomes vectors in registers: it is not unrolled before."""
_AS_VECTORS = ('!{!"llvm.loop.isvectorized", i32 1}', '!{!"llvm.loop.unroll.full"}')
Body = Callable[[str, list[Operand]], list[Operand]]


def loop_metadata(
    e: FunctionEmitter,
    group: str = "",
    *,
    calls: Calls | None = None,
    op: Op | None = None,
    hints: Sequence[str] = (),
) -> str:
    """Metadata for a loop's back edge: the loop terminates, and accesses in ``group`` have no loop-carried dependence.

    Cold loops are not vectorised or unrolled, which saves a quarter of LLVM's time for versioned loops. For a loop with
    ``calls`` of elementary functions, vector width and interleaving are prescribed. The loop ``op`` is identified by a
    number in ``places``, which ``loop_nodes`` looks up: file and line are not in the text, so the cached machine code
    is still found when a program is moved. A loop over lanes is not unrolled before it is vectorised, but afterwards,
    so that its small buffers become registers; if it is a sum, it gets several chains of additions. A loop over rows of
    varying lengths (``is_ragged``) is not unrolled at run time. ``hints``: more nodes.
    """
    nodes = [e.module.metadata('!{!"llvm.loop.mustprogress"}'), *map(e.module.metadata, hints)]
    if op is not None and op.loc.line > 0:
        place = e.module.places.setdefault((op.loc.file, op.loc.line), len(e.module.places))
        nodes.append(e.module.metadata(f'!{{!"adc.loop", i32 {place}}}'))
    if e.cold_depth or (op is not None and op.attrs.get(PEELED)):
        nodes.append(e.module.metadata('!{!"llvm.loop.vectorize.enable", i1 false}'))
        nodes.append(e.module.metadata('!{!"llvm.loop.unroll.disable"}'))
    elif calls and hints is not FEW:
        nodes += [e.module.metadata(f'!{{!"llvm.loop.{name}", i32 {n}}}') for name, n in _vectors(e, op, calls)]
    if op is not None and not e.cold_depth:
        if op.attrs.get(BY_LANES) and TRIPS not in op.attrs:
            nodes.append(e.module.metadata('!{!"llvm.loop.unroll.disable"}'))
            then = [e.module.metadata(text) for text in _AS_VECTORS]
            nodes.append(e.module.metadata(f'!{{!"llvm.loop.vectorize.followup_vectorized", {", ".join(then)}}}'))
            if op.results and not calls:
                nodes.append(e.module.metadata(CHAINS))
        elif is_ragged(op):
            nodes.append(e.module.metadata('!{!"llvm.loop.unroll.runtime.disable"}'))
    if group:
        nodes.append(e.module.metadata(f'!{{!"llvm.loop.parallel_accesses", {group}}}'))
    listed = ", ".join(nodes)
    return ", !llvm.loop " + e.module.distinct(lambda n: f"!{{{n}, {listed}}}")


def _vectors(e: FunctionEmitter, op: Op | None, calls: Calls) -> list[tuple[str, int]]:
    """Vector width and interleave count of a loop with ``calls``, as hints for LLVM.

    A vector function leaves half of the core's execution units idle, and it is too long for out-of-order execution to
    reach the next iteration. So several vectors are interleaved. With at least 16 doubles in all, LLVM also vectorises
    the remainder loop. Functions with a variant for two registers interleave by themselves, and better. A loop over
    lanes contains all its calls anyway. Where LLVM may decide against SIMD, no interleaving is requested: LLVM would
    interleave scalar calls, and fails assertions if the loop has branches or its last values are used.
    """
    target, at_once = e.module.target, "interleave.count"
    if calls.scalar or op is None or op.attrs.get(BY_LANES) or not goes_along_arrays(op):
        return [(at_once, 1)]
    if not calls.vector:
        return [(at_once, 1), ("vectorize.width", target.twofold_lanes)]
    return [(at_once, max(4, 1024 // target.vector_classes[-1][1]))]


def trip_count(e: FunctionEmitter, lower: str, upper: str, step: str) -> str:
    """The trip count of a loop with these bounds; like ``adc.ir.arith.trip_count``, zero if the range spans 2**63."""
    span = range_length(e, lower, upper)
    if lower != "0":
        span = e.let(f"call i64 @llvm.smax.i64(i64 {span}, i64 0)")
    if step == "1":
        return span
    less = e.let(f"sub i64 {step}, 1")
    return e.let(f"udiv i64 {e.let(f'add i64 {span}, {less}')}, {step}")


def range_length(e: FunctionEmitter, lower: str, upper: str) -> str:
    """The number of integers from ``lower`` up to, but not including, ``upper``."""
    e.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
    end = e.let(f"call i64 @llvm.smax.i64(i64 {upper}, i64 {lower})")
    return end if lower == "0" else e.let(f"sub i64 {end}, {lower}")


def range_loop(
    e: FunctionEmitter,
    lower: str,
    upper: str,
    step: str,
    types: Sequence[Type],
    inits: Sequence[Operand],
    body: Body,
    group: str = "",
    op: Op | None = None,
    strip: int = 0,
    poll: Callable[[str], None] | None = None,
    hints: Sequence[str] = (),
) -> list[Operand]:
    """A loop over ``range(lower, upper, step)`` with positive step and loop-carried values.

    ``body(counter, carried)`` writes the body and returns the values for the next iteration; ``range_loop`` returns the
    final values. If the step is not one, iterations are counted instead, because lower + k * step could overflow after
    the last one. With ``strip`` the loop is strip-mined into strips of that many iterations and polls between them:
    ``poll(iterations)`` writes the poll, given how many iterations are done. ``op`` is the loop in adc's IR, if there
    is one, ``hints`` is metadata for it: see ``loop_metadata``.
    """
    unit = step == "1"
    known = lower.isdigit() and upper.isdigit()
    start, head, done = e.label, e.new_label(), e.new_label()
    limit = upper
    runs = known and int(lower) < int(upper)
    if not unit:
        limit = trip_count(e, lower, upper, step)
    if runs:
        e.branch(head)
    else:
        e.branch_if(e.let(f"icmp slt i64 {lower}, {upper}" if unit else f"icmp sgt i64 {limit}, 0"), head, done)
    entry = e.label
    loop = _Loop(e, lower, step, types, body, group, op, hints)
    first = _Place(entry, lower if unit else "0", lower, inits)
    if strip and not (known and int(upper) - int(lower) <= strip):
        results = loop.strips(first, head, done, limit, strip, poll)
    else:
        results = loop.write(first, head, done, limit)
    latch = e.label
    e.begin(done)
    if not types:
        return []
    return e.join(types, [(latch, results)] if runs else [(start, inits), (latch, results)])


@dataclass
class _Place:
    """The block from which a loop is entered, with initial values of the counter, the subscript and the carried
    values."""

    label: str
    counter: str
    subscript: str
    carried: Sequence[Operand]


class _Loop:
    """A loop while it is written. If the step is one, the subscript is the counter."""

    def __init__(
        self,
        e: FunctionEmitter,
        lower: str,
        step: str,
        types: Sequence[Type],
        body: Body,
        group: str,
        op: Op | None,
        hints: Sequence[str] = (),
    ) -> None:
        self.e = e
        self.lower = lower
        self.step = step
        self.types = types
        self.body = body
        self.group = group
        self.op = op
        self.hints = hints
        self.unit = step == "1"
        self.last = ""  # the subscript after the last iteration that was written

    def write(self, first: _Place, head: str, done: str, limit: str, *, exact: bool = False) -> list[Operand]:
        """Write the loop up to ``limit``; it runs at least once. ``head`` and ``done`` are the labels of its head and
        exit.

        ``exact``: the counter is known to start below the limit.
        """
        e = self.e
        e.begin(head)
        counter, following = e.name(), e.name()
        slot = len(e.lines)
        e.lines.extend([""] * (1 if self.unit else 2))
        subscript, self.last = (counter, following) if self.unit else (e.name(), e.name())
        phis = e.open_phis(self.types)
        before = replace(e.calls)
        results = self.body(subscript, phis.rebuild())
        latch = e.label
        wraps = "nuw nsw" if not self.unit or self.lower.isdigit() else "nsw"
        e.do(f"{following} = add {wraps} i64 {counter}, 1")
        e.lines[slot] = f"  {counter} = phi i64 [{first.counter}, %{first.label}], [{following}, %{latch}]{e.dbg}"
        if not self.unit:
            e.do(f"{self.last} = add nsw i64 {subscript}, {self.step}")
            e.lines[slot + 1] = (
                f"  {subscript} = phi i64 [{first.subscript}, %{first.label}], [{self.last}, %{latch}]{e.dbg}"
            )
        more = e.let(f"icmp {'ne' if exact else 'slt'} i64 {following}, {limit}")
        metadata = loop_metadata(e, self.group, calls=e.calls - before, op=self.op, hints=self.hints)
        e.branch_if(more, head, done, metadata)
        phis.close([(first.label, first.carried), (latch, results)])
        return results

    def strips(
        self, first: _Place, head: str, done: str, limit: str, strip: int, poll: Callable[[str], None] | None
    ) -> list[Operand]:
        """Write the loop in strips."""
        e = self.e
        e.begin(head)
        counter = e.name()
        slot = len(e.lines)
        e.lines.extend([""] * (1 if self.unit else 2))
        subscript = counter if self.unit else e.name()
        phis = e.open_phis(self.types)
        carried = phis.rebuild()
        rest = e.let(f"sub i64 {limit}, {counter}")
        more = e.let(f"icmp ugt i64 {rest}, {strip}")
        reach = e.let(f"add nsw i64 {counter}, {strip}")
        stop = e.let(f"select i1 {more}, i64 {reach}, i64 {limit}")
        inner, after, again = e.new_label(), e.new_label(), e.new_label()
        e.branch(inner)
        results = self.write(_Place(e.label, counter, subscript, carried), inner, after, stop, exact=True)
        e.begin(after)
        e.branch_if(more, again, done, e.likely(False))
        e.begin(again)
        if poll is None:
            e.poll()
        else:
            poll(stop if not self.unit or self.lower == "0" else e.let(f"sub i64 {stop}, {self.lower}"))
        back = e.label
        progress = e.module.metadata('!{!"llvm.loop.mustprogress"}')
        e.do(f"br label %{head}, !llvm.loop {e.module.distinct(lambda n: f'!{{{n}, {progress}}}')}")
        e.lines[slot] = f"  {counter} = phi i64 [{first.counter}, %{first.label}], [{stop}, %{back}]{e.dbg}"
        if not self.unit:
            e.lines[slot + 1] = (
                f"  {subscript} = phi i64 [{first.subscript}, %{first.label}], [{self.last}, %{back}]{e.dbg}"
            )
        phis.close([(first.label, first.carried), (back, results)])
        e.label = after
        return results


@contextlib.contextmanager
def counted_loop(e: FunctionEmitter, count: str) -> Iterator[str]:
    """A loop over ``range(count)``; what is written inside the ``with`` is its body."""
    start, head, done = e.label, e.new_label(), e.new_label()
    e.branch_if(e.let(f"icmp sgt i64 {count}, 0"), head, done)
    e.begin(head)
    counter, following = e.name(), e.name()
    place = len(e.lines)
    e.lines.append("")
    yield counter
    e.lines[place] = f"  {counter} = phi i64 [0, %{start}], [{following}, %{e.label}]{e.dbg}"
    e.do(f"{following} = add nuw nsw i64 {counter}, 1")
    more = e.let(f"icmp slt i64 {following}, {count}")
    e.branch_if(more, head, done, loop_metadata(e))
    e.begin(done)
