"""Which parallel loops should have their iterations run side by side, in the lanes of SIMD registers.

An inner loop that sums in order, or carries another value, is not SIMD itself: each iteration waits for the one before.
If it is inside a parallel loop, several iterations of that one can take its steps together. What is the same for all of
them (*uniform*: the inner loop's counter, what is computed from it, and what is loaded with such subscripts from memory
that the loop does not change) stays as it is; everything else *varies*.

In the reverse sweep iterations may also add to shared elements (see ``privatisation``). An element that is the same for
all of them gets the sum over the lanes; different elements get their terms one lane after the other.

If lanes load from places far apart (a row of a matrix for each) repeatedly, in each iteration of a loop around the one
whose counter is the other subscript, the elements are *packed* first: copied so that they are side by side. If the
other subscript is not just a counter, everything that it may reach is copied.

Arrays that each iteration makes for itself exist once for each lane. Loops over their elements are taken together.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import field
from itertools import takewhile

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import BY_LANES, CHUNKS
from adc.ir.moments import strip_views
from adc.ir.nesting import inside, with_enclosing
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import trips
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import COUNTED, ELEMENT, ELEMENT_WRITES, LOOPS, PURE, STRUCTURED, TERMINATORS
from adc.passes.simd.array_expansion import accesses_of, is_expandable

GATHER = 4.0
"""The cost of loading from memory that lanes do not have side by side; loading side by side costs 1."""

DEPTH = 8.0
"""The greatest trip count that an inner loop is taken to have."""

MOST = 1.5
"""With greater average costs, the iterations run one by one, and the processor overlaps their sums by itself."""

MOST_OF_ROWS = 2.1
"""The same if each iteration goes through small arrays of its own, one row at a time, like a softmax of a few classes:
rows are too short for SIMD along them. Loops inside loops have more sums for the processor to overlap."""


@dataclass(frozen=True, eq=False)
class Packing:
    """A load whose elements are copied before ``outer``: for all values of the subscript ``moving``.

    If that is the counter of a loop, its values are from ``lower`` to before ``upper``, or to before the last ``upper``
    if that is a counter itself; else they are the whole extent, and ``lower`` is None.
    """

    load: Op
    outer: Op
    moving: Value
    lower: Value | None = None
    upper: Value | None = None
    upper_is_counter: bool = False


@dataclass(eq=False)
class Lanes:
    """A parallel loop whose iterations can run side by side: what varies between them, the inner loops whose steps they
    take together, the loads that are packed, the accumulations that are summed, the operations that lanes do in turn,
    and the allocations of arrays that each lane has for itself. ``cost``: the average cost of an access in those loops.
    """

    loop: Op
    varying: set[Value] = field(default_factory=set)
    together: set[Op] = field(default_factory=set)
    packings: dict[Op, Packing] = field(default_factory=dict)
    summed: set[Op] = field(default_factory=set)
    in_turn: set[Op] = field(default_factory=set)
    arrays: dict[Op, None] = field(default_factory=dict)
    cost: float = 0.0

    @property
    def counter(self) -> Value:
        return self.loop.regions[0].args[0]

    def is_uniform(self, op: Op) -> bool:
        return not op.regions and op.opdef not in ELEMENT_WRITES and self.varying.isdisjoint(op.results)

    def is_for_all(self, op: Op) -> bool:
        """Whether this accesses the same element of an array that each lane has for itself, including lanes not in
        use."""
        at = ELEMENT.get(op.opdef)
        return at is not None and op.operands[at].op in self.arrays and self.varying.isdisjoint(op.operands[at + 1 :])

    def is_of_lanes(self, value: Value) -> bool:
        """Whether each lane computes ``value`` by itself."""
        return value in self.varying and not self.is_recomputed(value)

    def is_recomputed(self, value: Value) -> bool:
        """Whether a varying value is computed from the loop's counter by cheap operations on integers, and views."""
        op = value.op
        if value is self.counter:
            return True
        if op is None or op.opdef not in PURE or op.regions or value.type.is_float:
            return False
        return all(v not in self.varying or self.is_recomputed(v) for v in op.operands)


def _is_done(loop: Op) -> bool:
    """Whether a loop is over chunks, or some of its iterations are lanes already."""
    return bool(loop.attrs.get(CHUNKS)) or any(op.attrs.get(BY_LANES) for op in loop.regions[0].walk())


def choose(loop: Op, memory: Memory, forms: Forms, columns: Container[Op] = ()) -> list[Lanes]:
    """The best choice among a parallel loop and those in it: all its inner loops that carry values become SIMD, at the
    least cost of memory accesses. ``columns``: allocations of arrays whose rows, of an iteration each, can be columns.
    """
    inner = [
        found for region in loop.regions for op in outermost(region) for found in choose(op, memory, forms, columns)
    ]
    own = None if _is_done(loop) else _Analysis(loop, memory, forms, columns).run()
    if own is None:
        return inner
    reached = {chain for lanes in inner for chain in lanes.together if _is_chain(chain)}
    if reached >= {op for op in own.together if _is_chain(op)}:
        cost = sum(lanes.cost for lanes in inner) / len(inner)
        if cost <= own.cost:
            return inner
    return [own]


def outermost(block: Block) -> Iterator[Op]:
    """The outermost parallel loops in ``block``, outside cold regions."""
    for op in block.ops:
        if op.opdef is ops.parallel:
            yield op
        else:
            for region in warm_regions(op):
                yield from outermost(region)


def _is_chain(op: Op) -> bool:
    """Whether an innermost loop carries a value from iteration to iteration, or accumulates to memory all lanes
    share."""
    if op.opdef not in COUNTED:
        return False
    carries = op.opdef is ops.for_ and len(op.regions[0].args) > 1
    if not carries and not any(inner.opdef is ops.accumulate for inner in op.regions[0].ops):
        return False
    return all(inner.opdef not in LOOPS for inner in op.regions[0].walk())


def hands_on(block: Block, initial: Value, result: Value) -> bool:
    """Whether the loop of ``block`` hands what it carries to an inner loop, and carries on what that returns, as in
    sums over several loops: one buffer is enough for both."""
    if initial not in block.args[1:] or len(initial.uses) != 1 or len(result.uses) != 1:
        return False
    return block.terminator.operands[initial.index - 1] is result


class _Unfit(Exception):
    """Raised if iterations cannot run side by side."""


class _Analysis:
    def __init__(self, loop: Op, memory: Memory, forms: Forms, columns: Container[Op]) -> None:
        self.loop = loop
        self.memory = memory
        self.forms = forms
        self.columns = columns
        self.lanes = Lanes(loop, {loop.regions[0].args[0]})
        self._total = self._weights = 0.0
        self._around: list[Op] = []  # the current loops that are taken together

    def run(self) -> Lanes | None:
        (body,) = self.loop.regions
        end = body.terminator
        if constant_of(self.loop.operands[2]) is None or not all(v.type.is_float for v in end.operands):
            return None
        try:
            self._block(body)
        except _Unfit:
            return None
        if not any(map(_is_chain, self.lanes.together)):
            return None
        self.lanes.cost = self._total / self._weights if self._weights else 0.0
        inner = [o for op in body.walk() if op.opdef in LOOPS for region in op.regions for o in region.walk()]
        flat = all(o.opdef not in LOOPS for o in inner)
        most = MOST_OF_ROWS if self.lanes.arrays and flat else MOST
        return self.lanes if self.lanes.cost <= most else None

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.opdef in TERMINATORS:
                continue
            if op.attrs.get("atomic"):
                raise _Unfit
            if op.opdef is ops.alloc and is_expandable(op, self.loop):
                self.lanes.arrays[op] = None
                continue
            if op.opdef is ops.fill and self._is_own(op.operands[1]) and self._all_uniform(op.operands[:1]):
                continue
            if self._steps_together(op):
                self.lanes.together.add(op)
                self.lanes.varying |= {*op.regions[0].args[1:], *op.results}
                self._around.append(op)
                self._block(op.regions[0])
                self._around.pop()
            elif not self._is_uniform(op):
                if op.opdef in LOOPS and any(accesses_of(self._own(), op)):
                    raise _Unfit  # each lane's elements are far apart
                self._check(op)
                self._sort(op)
                self.lanes.varying.update(op.results)
                if any(isinstance(r.type, MemRefType) and not self.lanes.is_recomputed(r) for r in op.results):
                    raise _Unfit
            if op not in self.lanes.together:
                self._weigh(op)

    def _steps_together(self, op: Op) -> bool:
        """Whether the iterations take the steps of this loop together: whether that is possible and there is a gain."""
        if op.opdef not in COUNTED or not self._all_uniform(op.operands[:3]):
            return False
        if op.opdef is ops.parallel and op.results:
            return False
        if any(isinstance(r.type, MemRefType) for r in op.results):
            return False
        if any(map(_is_chain, (op, *op.regions[0].walk()))) or any(accesses_of(self._own(), op)):
            return True
        return op.opdef is ops.parallel and self._goes_across(op)

    def _goes_across(self, loop: Op) -> bool:
        """Whether each iteration of a loop accesses only elements that lanes have side by side, in columns, and
        elements that are the same for all."""
        body, counter = loop.regions[0].ops, loop.regions[0].args[0]
        if any(op.regions or op.opdef is ops.accumulate for op in body):
            return False
        found: set[int] = set()
        for op in body:
            if op.opdef not in ELEMENT:
                continue
            memref, *subscripts = op.operands[0 if op.opdef is ops.load else 1 :]
            if not isinstance(t := memref.type, MemRefType) or t.strides is not None or memref.op in self.lanes.arrays:
                return False
            forms = [self.forms.of(v).split(self.forms.symbol(self.lanes.counter)) for v in subscripts]
            fixed = [s.value is counter or not inside(s.value, self.loop) for _, rest in forms for s in rest.symbols()]
            steps = [factor.constant if factor.is_constant else None for factor, _ in forms]
            if not all(fixed) or any(step != 0 for step in steps[:-1]) or steps[-1] not in (0, 1):
                return False
            found.add(steps[-1])
        return found == {1} and constant_of(self.loop.operands[2]) == 1

    def _own(self) -> set[Value]:
        return {alloc.result for alloc in self.lanes.arrays}

    def _is_own(self, memref: Value) -> bool:
        return memref.op in self.lanes.arrays

    def _all_uniform(self, values: tuple[Value, ...]) -> bool:
        return all(v not in self.lanes.varying for v in values)

    def _is_uniform(self, op: Op) -> bool:
        if op.regions or not self._all_uniform(op.operands):
            return False
        if op.opdef is ops.load:
            return not self.memory.may_write(self.loop, op.operands[0]) and not isinstance(op.result.type, MemRefType)
        return op.opdef in PURE or op.opdef is ops.bound

    def _check(self, op: Op) -> None:
        """Refuse operations that cannot be done for several iterations in turn instead of for one."""
        for inner in (op, *(o for region in op.regions for o in region.walk())):
            kind = inner.opdef
            known = kind in PURE or kind in TERMINATORS or kind in ELEMENT or kind in STRUCTURED
            if not known or (kind is ops.load and isinstance(inner.result.type, MemRefType)):
                raise _Unfit

    def _sort(self, op: Op) -> None:
        """Decide whether an accumulation adds the sum over the lanes, or lanes add in turn."""
        added = [o for o in (op, *(o for r in op.regions for o in r.walk())) if o.opdef is ops.accumulate]
        if all(self._is_own(o.operands[1]) for o in added):
            return
        if op.opdef is ops.accumulate and self._all_uniform(op.operands[1:]):
            self.lanes.summed.add(op)
        else:
            self.lanes.in_turn.add(op)

    def _weigh(self, op: Op) -> None:
        """Count accesses by how often they run. In loops that lanes run by themselves, no access is SIMD."""
        for inner in (op, *(o for region in op.regions for o in region.walk())):
            if inner.opdef not in ELEMENT:
                continue
            within = takewhile(lambda around: around is not op, with_enclosing(inner))
            own = [around for around in (*within, op) if around.opdef in LOOPS]
            if own or (inner is op and self._around):
                weight = math.prod(min(trips(loop), DEPTH) for loop in (*self._around, *own))
                self._weights += weight
                self._total += weight * (GATHER if own else self._cost(op))

    def _cost(self, op: Op) -> float:
        """0 if all lanes load one element, 1 if they access elements side by side."""
        memref, *subscripts = op.operands if op.opdef is ops.load else op.operands[1:]
        if self._is_own(memref):
            return 1.0 if self._all_uniform(tuple(subscripts)) else GATHER
        if self._all_uniform((memref, *subscripts)):
            return 1.0 if op in self.lanes.summed else 0.0
        if memref.op in self.columns and self._is_row(*subscripts):
            return 1.0
        t = strip_views(memref).type
        assert isinstance(t, MemRefType)
        side_by_side = memref not in self.lanes.varying and t.strides is None and memref.type == t
        steps = [self._step(v) for v in subscripts]
        if side_by_side and steps[-1] == 1 and not any(s != 0 for s in steps[:-1]):
            return 1.0
        packing = self._packing(op) if op.opdef is ops.load else None
        if packing is None:
            return GATHER
        self.lanes.packings[op] = packing
        return 1.0

    def _is_row(self, first: Value, *others: Value) -> bool:
        """Whether each lane accesses the same element of a row of its own."""
        return first is self.lanes.counter and self._all_uniform(others)

    def _step(self, subscript: Value) -> int | None:
        """The distance of a subscript between neighbouring lanes; None if it is not known."""
        if subscript not in self.lanes.varying:
            return 0
        factor, rest = self.forms.of(subscript).split(self.forms.symbol(self.lanes.counter))
        if not factor.is_constant or any(s.value in self.lanes.varying for s in rest.symbols()):
            return None
        return factor.constant * int(constant_of(self.loop.operands[2]) or 0)

    def _packing(self, load: Op) -> Packing | None:
        """How to pack the elements of a load, if they are loaded again in each iteration of the outermost loop around
        it."""
        if self.memory.may_write(self.loop, load.operands[0]):
            return None
        return self._along_counter(load) or self._along_extent(load)

    def _along_counter(self, load: Op) -> Packing | None:
        outer = self._around[0]
        counters = {op.regions[0].args[0]: op for op in self._around}
        needed: dict[Value, None] = {}
        work = list(load.operands)
        while work:
            value = work.pop()
            if value in counters:
                needed[value] = None
            elif inside(value, outer):
                if value.op is None or value.op.opdef not in PURE or value.op.regions or value.type.is_float:
                    return None
                work += value.op.operands
        if len(needed) != 1:
            return None
        counter = next(iter(needed))
        loop = counters[counter]
        lower, upper, step = loop.operands[:3]
        if loop is outer or constant_of(step) != 1 or inside(lower, outer):
            return None
        if not inside(upper, outer):
            return Packing(load, outer, counter, lower, upper)
        # A triangle: for i in range(a, b): for j in range(c, i).
        around = counters.get(upper)
        if around is None or around is outer or constant_of(around.operands[2]) != 1:
            return None
        if any(inside(v, outer) for v in around.operands[:2]):
            return None
        return Packing(load, outer, counter, lower, around.operands[1], upper_is_counter=True)

    def _along_extent(self, load: Op) -> Packing | None:
        outer = self._around[0]
        memref, *subscripts = load.operands
        moving = [v for v in subscripts if inside(v, outer)]
        if len(self._around) < 2 or len(moving) != 1 or inside(memref, outer) or not self._all_uniform(tuple(moving)):
            return None
        return Packing(load, outer, moving[0])
