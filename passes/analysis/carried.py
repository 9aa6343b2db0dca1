"""Values that loops carry: intervals of integers, what these are picked from, and which memrefs are swapped.

Counts, sums of bounded terms, and numbers that each iteration recomputes have intervals. A carried integer lies between
its first value and what iterations give, if that does not depend on it. Otherwise its interval follows from what an
iteration adds to it and the number of iterations or, in a ``scf.while``, from the condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.moments import strip_views
from adc.ir.permutations import Permutations
from adc.passes.analysis.attributes import MIRRORED

if TYPE_CHECKING:
    from adc.passes.analysis.integers import Integers, Interval


def of_argument(facts: Integers, value: Value, depth: int, whole: Interval) -> Interval:
    """The interval of an argument of a loop's region that is not its counter; ``whole`` is that of its type."""
    block = value.owner
    loop = block.parent_op if isinstance(block, Block) else None
    if loop is None or not depth:
        return whole
    if loop.opdef is ops.for_ and value.index:
        return _counted(facts, loop, value.index - 1, depth, whole, runs=-1)
    if loop.opdef is not ops.while_:
        return whole
    before, after = loop.regions
    if block is after:
        condition, *passed = before.terminator.operands
        return _narrowed(facts, facts.interval(passed[value.index], depth), condition, passed[value.index], depth)
    return _open(facts, loop, value, depth, whole)


def of_result(facts: Integers, value: Value, depth: int, whole: Interval) -> Interval:
    """The interval of a result of a branch or a loop."""
    op = value.op
    assert op is not None
    if op.opdef is ops.if_:
        return _union(*(facts.interval(region.terminator.operands[value.index], depth) for region in op.regions))
    if op.opdef is ops.for_:
        return _counted(facts, op, value.index, depth, whole, runs=0)
    if op.opdef is ops.while_:
        return facts.interval(op.regions[0].terminator.operands[1 + value.index], depth)
    return whole


def _union(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _counted(facts: Integers, loop: Op, k: int, depth: int, whole: Interval, runs: int) -> Interval:
    """The interval of what a ``scf.for`` carries, ``runs`` iterations after the last."""
    argument, following = loop.regions[0].args[k + 1], loop.regions[0].terminator.operands[k]
    first = facts.interval(loop.operands[3 + k], depth)
    with facts.taking(argument, whole):
        again = facts.interval(following, depth)
        step = None if again != whole else _growth(facts, following, argument, depth)
    if again != whole:
        return _union(first, again)
    if step is None:
        return whole
    times = max(0, _trips(facts, loop, depth) + runs)
    low, high = first[0] + min(0, step[0]) * times, first[1] + max(0, step[1]) * times
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def _trips(facts: Integers, loop: Op, depth: int) -> int:
    """The most iterations that a ``scf.for`` may have."""
    lower, upper = (facts.interval(v, depth) for v in loop.operands[:2])
    return max(0, -((lower[0] - upper[1]) // int(constant_of(loop.operands[2]) or 1)))


def _open(facts: Integers, loop: Op, argument: Value, depth: int, whole: Interval) -> Interval:
    """The interval of what a ``scf.while`` carries."""
    following = loop.regions[1].terminator.operands[argument.index]
    first = facts.interval(loop.operands[argument.index], depth)
    with facts.taking(argument, whole):
        again = facts.interval(following, depth)
        step = _growth(facts, following, argument, depth, exact=True)
    low, high = _union(first, again)
    if step is not None:  # no iteration wraps around, so it goes one way
        low = first[0] if step[0] >= 0 else low
        high = first[1] if step[1] <= 0 else high
    return low, high


def _growth(facts: Integers, value: Value, start: Value, depth: int, *, exact: bool = False) -> Interval | None:
    """The numbers between which ``value - start`` lies, whatever ``start`` is; None if they are not found.

    They are integers if nothing wraps around on the way from one to the other; ``exact``: it is shown that nothing
    does.
    """
    if value is start:
        return 0, 0
    if not depth:
        return None
    op = value.op
    if op is None:
        return _through_while(facts, value, start, depth, exact)
    if op.opdef is ops.addi or op.opdef is ops.subi:
        if exact and not facts.fits("add" if op.opdef is ops.addi else "sub", *op.operands):
            return None
        for a, b in (op.operands, op.operands[::-1]):
            found = _growth(facts, a, start, depth - 1, exact=exact)
            if found is not None:
                low, high = facts.interval(b, depth)
                return (found[0] + low, found[1] + high) if op.opdef is ops.addi else (found[0] - high, found[1] - low)
            if op.opdef is ops.subi:
                return None
        return None
    if op.opdef is ops.select or op.opdef is ops.if_:
        ends = op.operands[1:] if op.opdef is ops.select else [r.terminator.operands[value.index] for r in op.regions]
        x, y = (_growth(facts, v, start, depth - 1, exact=exact) for v in ends)
        return None if x is None or y is None else _union(x, y)
    if op.opdef is ops.for_ and not exact:
        k = value.index
        before = _growth(facts, op.operands[3 + k], start, depth - 1)
        step = _growth(facts, op.regions[0].terminator.operands[k], op.regions[0].args[k + 1], depth - 1)
        if before is not None and step is not None:
            times = _trips(facts, op, depth)
            return before[0] + min(0, step[0]) * times, before[1] + max(0, step[1]) * times
    return None


def _through_while(facts: Integers, value: Value, start: Value, depth: int, exact: bool) -> Interval | None:
    """The same for ``value`` as an argument of the second region of a ``scf.while``: what the first one passes on."""
    block = value.owner
    loop = block.parent_op if isinstance(block, Block) else None
    if loop is None or loop.opdef is not ops.while_ or block is not loop.regions[1]:
        return None
    return _growth(facts, loop.regions[0].terminator.operands[1 + value.index], start, depth - 1, exact=exact)


def _narrowed(facts: Integers, found: Interval, condition: Value, value: Value, depth: int) -> Interval:
    """The part of ``found``, the interval of ``value``, in which ``condition`` can hold."""
    op = condition.op
    if op is None or not depth:
        return found
    if op.opdef is ops.andi:
        for part in op.operands:
            found = _narrowed(facts, found, part, value, depth - 1)
    elif op.opdef is ops.select and constant_of(op.operands[2]) == 0:
        for part in op.operands[:2]:
            found = _narrowed(facts, found, part, value, depth - 1)
    elif op.opdef is ops.cmpi and value in op.operands:
        a, b = op.operands
        predicate = op.attrs["predicate"]
        if value is not a:
            b, predicate = a, MIRRORED.get(predicate, "ne")
        low, high = facts.interval(b, depth)
        if predicate in ("slt", "sle", "eq"):
            found = found[0], min(found[1], high - (predicate == "slt"))
        if predicate in ("sgt", "sge", "eq"):
            found = max(found[0], low + (predicate == "sgt")), found[1]
    return found if found[0] <= found[1] else (found[1], found[1])


def picked_from(value: Value) -> list[Value] | None:
    """The values that ``value`` may be, if it is the result of a loop that keeps a carried value or replaces it, such
    as the place of a least element: the initial value and all replacements."""
    loop = value.op
    if loop is None or loop.opdef is not ops.for_:
        return None
    argument = loop.regions[0].args[1 + value.index]
    found: dict[Value, None] = {}
    work = [loop.regions[0].terminator.operands[value.index]]
    while work:
        taken = work.pop()
        op = taken.op
        if op is not None and op.opdef is ops.select:
            work += op.operands[1:]
        elif op is not None and op.opdef is ops.if_:
            work += [region.terminator.operands[taken.index] for region in op.regions]
        elif taken is not argument:
            found[taken] = None
    return [loop.operands[3 + value.index], *found]


def carried_from(memref: Value) -> list[Value] | None:
    """The memrefs from before the loop that ``memref`` can be, if the loop only permutes it with others."""
    block = memref.owner
    loop = block.parent_op if isinstance(block, Block) else memref.op
    if loop is None or loop.opdef is not ops.for_:
        return None
    position = memref.index - 1 if isinstance(block, Block) else memref.index
    orbit = Permutations().of(loop).orbit_at(position) if position >= 0 else None
    if orbit is None:
        return None
    return [strip_views(m) if _whole(m) else m for m in orbit.inputs]


def _whole(memref: Value) -> bool:
    return memref.op is not None and memref.op.opdef is ops.cast
