"""Snapshots: what a loop reads of an array that is written to later, copied before the loop.

A load that cannot be repeated in the reverse sweep, since its memory has other contents by then, can be made from a
copy of that memory. One element of the copy serves all loads of it: the neighbours that a stencil reads at five places,
or what a sparse matrix gathers, and everything computed from them. So the storage plan may choose between keeping
values and keeping the array, box by box: what the loads of a loop nest can reach, subscripted by its counters plus
constants. A subscript of another kind may reach everything in its dimension. A copy for such loads is offered only
where the program goes through the whole array anyhow, however little it looks up (see
``adc.passes.differentiation.storage.swept``).

Candidates are put into the function before the plan is made, and those that it does not choose are taken out again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const_index, constant_of, iteration_number
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.ir.schedules import TAPE
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.costs import DEFAULT_TRIPS, STORE_BYTE, cost_of, executions, trips
from adc.passes.analysis.extents import Extent, Extents, Shape
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, LOOPS
from adc.passes.building import parallel_loop
from adc.passes.differentiation.storage.kept import ITS_ELEMENTS, Kept, trips_of
from adc.passes.differentiation.storage.legality import Written
from adc.passes.differentiation.storage.rectangles import Rectangles, loops_above
from adc.passes.differentiation.storage.swept import Swept
from adc.passes.rewrite import put_before

_COPYING = 2 * cost_of(ops.load)  # of an element


@dataclass(frozen=True)
class _Reach:
    """The range of a subscript: from ``base + lower + offset`` to below ``base + upper + offset``, by the counter of
    ``loop`` if any."""

    lower: Value
    upper: Value | None  # None: one more than ``lower``
    offset: int
    loop: Op | None
    base: Value | None = None  # None: zero


_Reaches = tuple[_Reach | None, ...]  # for each dimension; None: any subscript


@dataclass
class _Candidate:
    """Loads of one memref that one copy can serve. ``anchor``: the first loop around them; the copy is made before
    it."""

    memref: Value
    anchor: Op
    loads: list[tuple[Op, _Reaches]] = field(default_factory=list)


@dataclass
class Snapshot:
    """Copies, in ``memory``, of a box of a memref that begins at ``starts``: one for each iteration of ``loops``.

    ``cost`` is the cost of keeping them.
    """

    memory: Value
    loops: tuple[Op, ...]
    starts: tuple[Value, ...]
    loads: list[Op]
    cost: float
    made: list[Op]

    def kept(self) -> Kept:
        """The entry of the report."""
        load = self.loads[0]
        return Kept(
            load.loc.line,
            f"{load.operands[0].hint or 'an array'} before the loop",
            "",
            load.result.type,
            (ITS_ELEMENTS, *map(trips_of, self.loops)),
            checked=load.parent is not None and is_cold(load.parent),
        )

    def recipe(self, load: Op) -> list[Value]:
        return [self.memory, *self.starts, *load.operands[1:]]

    def repeat(self, load: Op, numbers: Sequence[Value], values: Sequence[Value]) -> Op:
        """Append ``load``, from the values of its recipe; ``numbers`` are those of the iterations."""
        memory, starts, subscripts = values[0], values[1 : 1 + len(self.starts)], values[1 + len(self.starts) :]
        within = (x - start for x, start in zip(subscripts, starts, strict=True))
        return build(ops.load, [memory, *numbers, *within])


def make_snapshots(loads: Iterable[Op], aliasing: Aliasing, written: Written) -> list[Snapshot]:
    """Put copies that could serve ``loads``, given in program order, before the loops around them."""
    candidates: dict[tuple[Value, Block, tuple[Value | None, ...]], list[_Candidate]] = {}
    finder, extents = _Finder(aliasing, written), Extents()
    swept = Swept(aliasing, extents)
    for load in loads:
        loop = finder.loop(load)
        reaches = _reaches(load, loop) if loop is not None else None
        if loop is None or reaches is None or (None in reaches and not swept.beside(load.operands[0], loop)):
            continue
        assert loop.parent is not None
        # A row whose place is not known is kept apart from what loops go over.
        apart = tuple(None if r is None or r.loop or _is_constant(r.lower) else r.lower for r in reaches)
        key = load.operands[0], loop.parent, apart
        found = candidates.setdefault(key, [])
        if not found or not finder.joins(load.operands[0], reaches, found[-1].anchor, loop):
            found.append(_Candidate(load.operands[0], loop))
        found[-1].loads.append((load, reaches))
    return [_make(candidate, extents) for group in candidates.values() for candidate in group]


class _Finder:
    """Finds the loops around loads in which nothing has written what they read when they read it.

    What one iteration of a parallel loop reads no other one writes: there only what comes before the load counts.
    """

    def __init__(self, aliasing: Aliasing, written: Written) -> None:
        self._aliasing = aliasing
        self._writes_of = written
        self._written: dict[Op, list[Value]] = {}

    def loop(self, load: Op) -> Op | None:
        """The outermost such loop outside which the memref is defined."""
        memref, at, found = load.operands[0], load, None
        while (block := at.parent) is not None and (op := block.parent_op) is not None:
            comes_round = op.opdef in LOOPS and op.opdef is not ops.parallel
            earlier = (op,) if comes_round else block.ops[: block.ops.index(at)]
            if any(self._writes(o, memref) for o in earlier) or inside(memref, op):
                break
            if op.opdef in LOOPS:
                found = op
            at = op
        return found

    def joins(self, memref: Value, reaches: _Reaches, first: Op, loop: Op) -> bool:
        """Whether a copy made before ``first`` also serves a load in ``loop``, which comes later in the same block."""
        assert first.parent is not None
        between = first.parent.ops[first.parent.ops.index(first) : first.parent.ops.index(loop)]
        made = {result for op in between for result in op.results}
        bounds = {bound for r in reaches if r for bound in (r.base, r.lower, r.upper) if bound is not None}
        return made.isdisjoint(bounds) and not any(self._writes(op, memref) for op in between)

    def _writes(self, op: Op, memref: Value) -> bool:
        if op not in self._written:
            inner = [o for region in op.regions for o in region.walk()]
            self._written[op] = list(dict.fromkeys(v for o in (op, *inner) for v in self._writes_of.by(o)))
        return any(self._aliasing.may_overlap(memref, other) for other in self._written[op])


def _reaches(load: Op, loop: Op) -> _Reaches | None:
    """The ranges of a load's subscripts in ``loop``; None if the load is always of the same element."""
    found = tuple(_reach(subscript, loop) for subscript in load.operands[1:])
    return found if any(r is None or r.loop for r in found) else None


def _reach(subscript: Value, loop: Op) -> _Reach | None:
    """The range of a subscript in ``loop``: that of a counter, a value from outside, or their sum, plus a constant.
    Else None."""
    offset, base = 0, None
    while (op := subscript.op) is not None and op.opdef in (ops.addi, ops.bound):
        if not inside(subscript, loop):
            break
        if op.opdef is ops.bound:
            if not Integers().proves_ge_zero_in(op.operands[0], op.parent):
                return None  # it may count from the end
            subscript = op.operands[0]
            continue
        fixed = next((v for v in op.operands if constant_of(v) is not None), None)
        if fixed is not None:
            offset += int(constant_of(fixed) or 0)
        elif base is not None or (fixed := next((v for v in op.operands if not inside(v, loop)), None)) is None:
            return None
        else:
            base = fixed
        subscript = op.operands[1] if op.operands[0] is fixed else op.operands[0]
    if base is None and (not inside(subscript, loop) or constant_of(subscript) is not None):
        return _Reach(subscript, None, offset, None)
    around = subscript.block.parent_op if subscript.block is not None else None
    if subscript.op is not None or subscript.index != 0 or around is None or around.opdef not in COUNTED:
        return None
    bounds = around.operands[:3]
    known = not any(inside(b, loop) and constant_of(b) is None for b in bounds)
    return _Reach(bounds[0], bounds[1], offset, around, base) if known and constant_of(bounds[2]) == 1 else None


def _make(candidate: _Candidate, extents: Extents) -> Snapshot:
    memref, anchor = candidate.memref, candidate.anchor
    assert isinstance(memref.type, MemRefType)
    shape = extents.shape(memref)
    sides = [_Side([reaches[k] for _, reaches in candidate.loads], extent) for k, extent in enumerate(shape)]
    fixed = [v for side in sides for v in side.values()]
    fixed += [v for e in shape if isinstance(v := e[0] if isinstance(e, tuple) else e, Value)]
    assert anchor.parent is not None
    rectangles = Rectangles()
    box = math.prod(side.trips for side in sides)
    loops = rectangles.around(loops_above(anchor.parent), [v for v in fixed if constant_of(v) is None], box)
    before = loops[0] if loops else anchor
    scratch = Block()
    with insert_at(scratch, before.loc):
        trips_of = [rectangles.trips(loop, before) for loop in loops]
        memory, starts = _allocate(sides, shape, trips_of, memref)
    put_before(before, scratch.ops)
    made = list(scratch.ops)
    copying = Block()
    with insert_at(copying, anchor.loc):
        numbers = [iteration_number(o.regions[0].args[0], o.operands[0], o.operands[2]) for o in loops]
        _copy(memref, starts, memory, numbers, [])
    made += copying.ops
    put_before(anchor, copying.ops)
    cost = executions(anchor.parent) * box * (STORE_BYTE * scalar_bytes(memref.type.element) + _COPYING)
    return Snapshot(memory, tuple(loops), starts, [load for load, _ in candidate.loads], cost, made)


def _allocate(
    sides: Sequence[_Side], shape: Shape, trips_of: Sequence[Value], memref: Value
) -> tuple[Value, tuple[Value, ...]]:
    """Append memory for the copies. Returns where the box begins, too."""
    assert isinstance(memref.type, MemRefType)
    starts = tuple(side.start() for side in sides)
    ends = [side.end(_as_value(e)) for side, e in zip(sides, shape, strict=True)]
    extents = [ops.maxsi(end - start, const_index(0)) for start, end in zip(starts, ends, strict=True)]
    t = MemRefType((None,) * (len(trips_of) + len(sides)), memref.type.element)
    memory = ops.alloc(*trips_of, *extents, type=t)
    assert memory.op is not None
    memory.op.set_attr(TAPE, True)
    memory.hint = f"{memref.hint or 'array'}_before"
    return memory, starts


def _as_value(extent: Extent) -> Value:
    if isinstance(extent, tuple):
        return ops.dim(extent[0], dim=extent[1])
    return extent if isinstance(extent, Value) else const_index(extent)


def _copy(memref: Value, starts: Sequence[Value], memory: Value, numbers: Sequence[Value], at: list[Value]) -> None:
    if len(at) == len(starts):
        there = [x + start for x, start in zip(at, starts, strict=True)]
        build(ops.store, [build(ops.load, [memref, *there]).result, memory, *numbers, *at])
    else:
        extent = ops.dim(memory, dim=len(numbers) + len(at))
        parallel_loop(const_index(0), extent, lambda x: _copy(memref, starts, memory, numbers, [*at, x]))


def _is_constant(value: Value) -> bool:
    return constant_of(value) is not None


class _Side:
    """What the loads may reach in one dimension. Other subscripts may be out of range."""

    def __init__(self, found: Sequence[_Reach | None], extent: Extent) -> None:
        self._lowest: dict[tuple[Value | None, Value], int] = {}
        self._highest: dict[tuple[Value | None, Value, Value | None], int] = {}
        reaches = [r for r in found if r is not None]
        if len(reaches) < len(found):
            self.trips = float(extent) if isinstance(extent, int) else DEFAULT_TRIPS
            return
        for r in reaches:
            least = r.base, r.lower
            self._lowest[least] = min(self._lowest.get(least, r.offset), r.offset)
            key = r.base, r.lower, r.upper
            self._highest[key] = max(self._highest.get(key, r.offset), r.offset)
        known = [int(k) + r.offset for r in reaches if r.loop is None and (k := constant_of(r.lower)) is not None]
        self.trips = max((trips(r.loop) for r in reaches if r.loop is not None), default=0.0)
        self.trips = max(self.trips, float(max(known) - min(known) + 1) if known else 1.0)

    def values(self) -> list[Value]:
        """What the reach depends on."""
        return [v for found in self._highest for v in found if v is not None]

    def start(self) -> Value:
        found = const_index(0)
        for k, ((base, lower), offset) in enumerate(self._lowest.items()):
            first = ops.maxsi(_moved(base, lower, offset), const_index(0))
            found = ops.minsi(found, first) if k else first
        return found

    def end(self, extent: Value) -> Value:
        found = extent
        for k, ((base, lower, upper), offset) in enumerate(self._highest.items()):
            last = _moved(base, lower, offset + 1) if upper is None else _moved(base, upper, offset)
            last = ops.minsi(last, extent)
            found = ops.maxsi(found, last) if k else last
        return found


def _moved(base: Value | None, value: Value, offset: int) -> Value:
    known = constant_of(value)
    if known is not None and base is None:
        return const_index(int(known) + offset)
    if base is not None:
        value = base if known == 0 else base + value
    return value + const_index(offset) if offset else value


def take_out(snapshot: Snapshot) -> None:
    """Remove a snapshot that was not chosen."""
    gone = set(snapshot.made)
    for block in {op.parent: None for op in snapshot.made}:
        assert block is not None
        block.set_ops([op for op in block.ops if op not in gone])
    for op in reversed(snapshot.made):
        op.drop()
