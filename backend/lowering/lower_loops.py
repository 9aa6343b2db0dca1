"""The shape of a loop in LLVM IR: rotated, guarded, with a counter that scalar evolution understands."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from adc.backend.lowering.lower_emitter import FunctionEmitter, Operand
from adc.backend.lowering.lower_types import quoted
from adc.ir.core import UNKNOWN, Loc
from adc.ir.types import Type

Body = Callable[[str, list[Operand]], list[Operand]]


def loop_metadata(e: FunctionEmitter, group: str = "", *, calls: bool = False, loc: Loc = UNKNOWN) -> str:
    """Metadata for a loop's back edge: it ends; ``group`` holds accesses that no iteration makes another wait for.

    Where the mathematics library is called, interleaving several vectors would only spill them around the calls. Loops
    in code that is rarely run are left alone, which saves a quarter of the time that LLVM takes for versioned loops.
    ``loc`` is where the loop stands in the source, for ``optimize.vectorized_loops`` to find it again.
    """
    nodes = [e.module.metadata('!{!"llvm.loop.mustprogress"}')]
    if loc.line > 0:
        nodes.append(e.module.metadata(f'!{{!"adc.loop", !{quoted(loc.file)}, i32 {loc.line}}}'))
    if e.rare:
        nodes.append(e.module.metadata('!{!"llvm.loop.vectorize.enable", i1 false}'))
        nodes.append(e.module.metadata('!{!"llvm.loop.unroll.disable"}'))
    elif calls:
        nodes.append(e.module.metadata('!{!"llvm.loop.interleave.count", i32 1}'))
    if group:
        nodes.append(e.module.metadata(f'!{{!"llvm.loop.parallel_accesses", {group}}}'))
    listed = ", ".join(nodes)
    return ", !llvm.loop " + e.module.distinct(lambda n: f"!{{{n}, {listed}}}")


def range_loop(
    e: FunctionEmitter,
    lower: str,
    upper: str,
    step: str,
    types: Sequence[Type],
    inits: Sequence[Operand],
    body: Body,
    group: str = "",
    loc: Loc = UNKNOWN,
) -> list[Operand]:
    """A loop over ``range(lower, upper, step)``, step positive, that carries values.

    ``body(counter, carried)`` writes the body and returns what is carried on; the final values are returned. Where the
    step is not one the iterations are counted, because lower + k * step could overflow after the last.
    """
    unit = step == "1"
    known = lower.isdigit() and upper.isdigit()
    start, head, done = e.label, e.new_label(), e.new_label()
    limit = upper
    if not (known and int(lower) < int(upper)):
        enter = e.let(f"icmp slt i64 {lower}, {upper}")
        if unit:
            e.branch_if(enter, head, done)
        else:
            count = e.new_label()
            e.branch_if(enter, count, done)
            e.begin(count)
    else:
        enter = "true"
    if not unit:
        span = e.let(f"sub i64 {upper}, {lower}")
        less = e.let(f"sub i64 {span}, 1")
        limit = e.let(f"add nuw i64 {e.let(f'udiv i64 {less}, {step}')}, 1")
    if not (unit and enter != "true"):
        e.branch(head)
    entry = e.label
    e.begin(head)
    counter, following = e.name(), e.name()
    slot = len(e.lines)
    e.lines.extend([""] * (1 if unit else 2))
    index, index_next = (counter, following) if unit else (e.name(), e.name())
    phis = e.open_phis(types)
    calls = e.library_calls
    results = body(index, phis.rebuild())
    latch = e.label
    e.do(f"{following} = add nuw nsw i64 {counter}, 1" if not unit or lower.isdigit() else
         f"{following} = add nsw i64 {counter}, 1")
    e.lines[slot] = f"  {counter} = phi i64 [{lower if unit else '0'}, %{entry}], [{following}, %{latch}]{e.dbg}"
    if not unit:
        e.do(f"{index_next} = add nsw i64 {index}, {step}")
        e.lines[slot + 1] = f"  {index} = phi i64 [{lower}, %{entry}], [{index_next}, %{latch}]{e.dbg}"
    more = e.let(f"icmp slt i64 {following}, {limit}")
    e.branch_if(more, head, done, loop_metadata(e, group, calls=e.library_calls > calls, loc=loc))
    phis.close([(entry, inits), (latch, results)])
    e.begin(done)
    if not types:
        return []
    return e.join(types, [(latch, results)] if enter == "true" else [(start, inits), (latch, results)])


@contextlib.contextmanager
def counted_loop(e: FunctionEmitter, count: str) -> Iterator[str]:
    """A loop from zero; what is written inside the ``with`` is its body."""
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
