"""How much memory a function takes, as a function of its arguments.

``Footprint`` interprets a function of final IR (after ``InsertDeallocs``) abstractly: allocations add to what is live,
deallocations subtract, calls are followed, branches count as the larger side unless the condition is known, and loops
count as their largest iteration. What sizes are computed from (extents, integers, other numbers) becomes code of a new
function. Sizes that depend on memory, or on a loop of unknown length, cannot be known beforehand, and are an error.

Bytes are those of the elements, rounded up to cache lines, with the header that each block has in the arena. Small
arrays of fixed size in frames are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import UNKNOWN, Block, Func, Loc, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.schedules import FILE
from adc.ir.types import MemRefType, f64, index, scalar_bytes
from adc.passes.checkpointing.conventions import ASKED, BLOCKS, BOUNDS, LENT, SPANS
from adc.passes.checkpointing.known_before import Frame, Given, KnownBefore

LINE = 64
MOST = 1 << 56
"""The limit of products of sizes: nobody has so many bytes, and sums of some of them do not wrap around."""

SMALL = 2048
"""Arrays of a fixed size up to this many bytes are not counted."""

_MEMORY = frozenset({ops.alloc, ops.dealloc, ops.grow, ops.pack})

Live = Counter[Value]
"""The number of blocks of each size."""


class Unsized(Exception):
    """Raised if a size cannot be known before the function runs."""

    def __init__(self, loc: Loc, reason: str) -> None:
        super().__init__(reason)
        self.loc = loc
        self.reason = reason


Seen = Callable[[str, Value], None]


def _ignore(name: str, value: Value) -> None:
    pass


class Footprint(KnownBefore):
    """Appends, at the insertion point, what it finds about one function of ``module``.

    ``results``: values that replace the results of calls of some functions, by name: those that compute schedules.
    ``seen`` is told the function that a loop asks for its schedule, and the number of its steps; ``blocks`` the same
    function, and the bytes of a snapshot if it has a block of its own, else zero. ``threads``: how many copies there
    are of what an iteration of a loop on threads allocates; None: as many as there are threads at run time.
    """

    def __init__(
        self, module: Module, results: Given, seen: Seen, blocks: Seen = _ignore, threads: int | None = None
    ) -> None:
        super().__init__(module, results, threads)
        self._seen = seen
        self._blocks = blocks
        self._allocating = _allocating(module)

    def peak(self, func: Func, given: Sequence[Value]) -> Value:
        """The most bytes that are live at a time. ``given``: numbers, and the extents of arrays, in order."""
        frame = Frame(func)
        rest = iter(given)
        for arg in func.args:
            rank = arg.type.rank if isinstance(arg.type, MemRefType) else None
            for path in [()] if rank is None else [(d,) for d in range(rank)]:
                self._scopes[0][frame, arg, path] = next(rest)
        shadows = [arg for arg, attrs in zip(func.args, func.arg_attrs, strict=True) if "adc.shadow" in attrs]
        own = self._sum(Counter(self._bytes(frame, arg, func.loc) for arg in shadows))
        inner, _ = self._block(frame, func.body)
        return own if inner is None else ops.addi(own, inner)

    # Memory over time -------------------------------------------------------------------------------------------------

    def _block(self, frame: Frame, block: Block) -> tuple[Value | None, Live]:
        """The largest number of bytes that are live in a block at a time, and what is left at its end; both without
        what was live before. None: it allocates nothing."""
        live: Live = Counter()
        peaks: list[Value] = []
        more = False  # whether anything was allocated since the last peak
        for op in block.ops:
            if LENT in op.attrs:
                continue  # a tape that is no larger has that room
            if op.opdef is ops.dealloc:
                if more:
                    peaks.append(self._sum(live))
                    more = False
                freed = self._freed(frame, op.operands[0])
                if freed is not None:
                    live[freed] -= 1
                if BLOCKS in op.attrs:
                    live[self._held(frame, op)] -= 1
            elif op.opdef is ops.alloc:
                if FILE not in op.attrs and not _is_small(op.result):
                    live[self._bytes(frame, op.result, op.loc)] += 1
                    more = True
            elif op.opdef is ops.pack:
                live[self._constant(_record_bytes(op))] += 1
                more = True
            elif op.opdef is ops.grow:
                raise Unsized(op.loc, "a loop of unknown length keeps values on a tape")
            elif self._allocates(op):
                peak, left = self._nested(frame, op)
                if peak is not None:
                    peaks.append(ops.addi(self._sum(live), peak))
                live.update(left)
        if more:
            peaks.append(self._sum(live))
        return self._largest(peaks), Counter({size: n for size, n in live.items() if n})

    def _freed(self, frame: Frame, memref: Value) -> Value | None:
        """The size of what is freed. None if it does not count, or is not known, like what a record on a tape holds;
        that is taken to stay."""
        origin = strip_views(memref).op
        if _is_small(memref) or (origin is not None and FILE in origin.attrs):
            return None
        try:
            return self._bytes(frame, memref, UNKNOWN)
        except Unsized:
            return None

    def _nested(self, frame: Frame, op: Op) -> tuple[Value | None, Live]:
        if op.opdef is ops.call:
            name = op.attrs["callee"]
            if name in self._recursive:
                raise Unsized(op.loc, "a recursive function allocates memory")
            called = self._called(frame, op)
            if ASKED in called.func.attrs:
                steps = self._value(frame, op.operands[1])
                if steps is None:
                    raise Unsized(op.loc, "the number of steps is not known in advance")
                self._seen(called.func.attrs[ASKED], steps)
            peak, left = self._block(called, called.func.body)
            # Sweeps over steps free what they make. Some of it is on tapes until then, so that its size is not known.
            return peak, Counter() if called.func.attrs.get(SPANS) else left
        if op.opdef is ops.if_:
            return self._branch(frame, op)
        peak, left = self._iteration(frame, op)
        if op.attrs.get(BLOCKS):
            self._blocks(op.attrs[BLOCKS], self._own_blocks(frame, op, left))
        if op.opdef is ops.parallel and op.attrs.get("threads") and self._threads != 1 and peak is not None:
            peak = self._times(peak, self._thread_count())
        if not left:
            return peak, left
        # Each iteration leaves something.
        trips = self._trips(frame, op)
        if trips is None or peak is None:
            raise Unsized(op.loc, "a loop of unknown length allocates memory that it keeps")
        each = self._sum(left)
        before = self._times(each, ops.maxsi(ops.subi(trips, self._constant(1)), self._constant(0)))
        before = ops.maxsi(before, self._constant(0))  # or an iteration frees something
        return ops.addi(before, peak), Counter({self._times(each, trips): 1})

    def _own_blocks(self, frame: Frame, loop: Op, left: Live) -> Value:
        """For a loop that makes blocks for snapshots: the bytes of a snapshot if a block has one row, else zero."""
        made = [op.result for op in loop.regions[0].ops if op.opdef is ops.alloc]
        rows = self._component(frame, made[0], (0,)) if made else None
        if rows is None:
            return self._constant(0)
        own = ops.cmpi(rows, self._constant(1), predicate="eq")
        return ops.select(own, self._sum(left), self._constant(0))

    def _held(self, frame: Frame, dealloc: Op) -> Value:
        """The bytes of all blocks that an array holds when it is freed."""
        (holder,) = dealloc.operands
        t = holder.type
        assert isinstance(t, MemRefType) and isinstance(t.element, MemRefType)
        count, *extents = (self._component(frame, holder, (d,)) for d in range(1 + t.element.rank))
        known = [extent for extent in extents if extent is not None]
        if count is None or len(known) < len(extents):
            raise Unsized(dealloc.loc, "the size of a snapshot is not known in advance")
        return self._times(self._size(scalar_bytes(t.element.element), known), count)

    def _branch(self, frame: Frame, op: Op) -> tuple[Value | None, Live]:
        (first, left), (second, other) = (self._block(frame, region) for region in op.regions)
        condition = self._value(frame, op.operands[0])

        def either(a: Value | None, b: Value | None) -> Value | None:
            if a is None and b is None:
                return None
            a, b = a or self._constant(0), b or self._constant(0)
            return ops.maxsi(a, b) if condition is None else ops.select(condition, a, b)

        if left != other:
            kept = either(self._sum(left), self._sum(other))
            assert kept is not None
            left = Counter({kept: 1})
        return either(first, second), left

    def _iteration(self, frame: Frame, loop: Op) -> tuple[Value | None, Live]:
        """The peak and the rest of an iteration with unknown number, or of the largest one if the number matters."""
        if loop.opdef is ops.while_:
            found = [self._block(frame, region) for region in loop.regions]
            peaks = [peak for peak, _ in found if peak is not None]
            return self._largest(peaks), sum((left for _, left in found), Counter())
        try:
            return self._block(frame, loop.regions[0])
        except Unsized:
            with self._scope():
                self._run_all_steps(frame)
                bounds = [self._value(frame, v) for v in loop.operands[:3]]
                if any(v is None for v in bounds):
                    raise
                return self._largest_iteration(frame, loop, [v for v in bounds if v is not None]), Counter()

    def _run_all_steps(self, frame: Frame | None) -> None:
        """In a call of a function of steps of which only the number is known: take them to be all steps. The iterations
        of its loops, in either direction, are then among those considered."""
        while frame is not None and not frame.func.attrs.get(SPANS):
            frame = frame.args[0][0] if frame.args else None
        if frame is None:
            return
        first, last, _, steps = frame.func.args[:BOUNDS]
        number = self._value(frame, steps)
        if number is not None and self._value(frame, first) is None:
            self._scopes[-1][frame, first, ()] = self._constant(0)
            self._scopes[-1][frame, last, ()] = number
            self._unknown = set()

    def _largest_iteration(self, frame: Frame, loop: Op, bounds: Sequence[Value]) -> Value:
        """Append a loop over the iterations that finds the most that one of them takes."""
        block = Block([index, index])
        with insert_at(block), self._scope():
            self._scopes[-1][frame, loop.regions[0].args[0], ()] = block.args[0]
            peak, left = self._block(frame, loop.regions[0])
            if left:
                raise Unsized(loop.loc, "a loop keeps memory whose size changes from one iteration to the next")
            build(ops.yield_, [ops.maxsi(block.args[1], peak or self._constant(0))])
        return build(ops.for_, [*bounds, self._constant(0)], {}, [index], [block]).result

    def _trips(self, frame: Frame, loop: Op) -> Value | None:
        if loop.opdef is ops.while_:
            return None
        if (called := self._range(frame, *loop.operands[:2])) is not None and constant_of(loop.operands[2]) == 1:
            return self._value(called, called.func.args[BOUNDS - 2])
        bounds = [self._value(frame, v) for v in loop.operands[:3]]
        return None if any(v is None for v in bounds) else trip_count(*(v for v in bounds if v is not None))

    def _allocates(self, op: Op) -> bool:
        if op.opdef is ops.call:
            return op.attrs["callee"] in self._allocating
        return any(inner.opdef in _MEMORY or self._allocates(inner) for r in op.regions for inner in r.ops)

    # Sizes ------------------------------------------------------------------------------------------------------------

    def _bytes(self, frame: Frame, memref: Value, loc: Loc) -> Value:
        """The size of an array with its header."""
        t = memref.type
        assert isinstance(t, MemRefType)
        extents = []
        for d in range(t.rank):
            extent = self._component(frame, memref, (d,))
            if extent is None:
                raise Unsized(loc, "the size of an array is not known in advance")
            extents.append(extent)
        return self._size(scalar_bytes(t.element), extents)

    def _size(self, element: int, extents: Sequence[Value]) -> Value:
        """The same, from the extents."""

        def found() -> Value:
            total = self._constant(element)
            for extent in extents:
                total = self._times(total, extent)
            lines = ops.floordivsi(ops.addi(total, self._constant(2 * LINE - 1)), self._constant(LINE))
            return ops.muli(lines, self._constant(LINE))

        return self._once(("bytes", element, *extents), found)

    def _times(self, a: Value, b: Value) -> Value:
        """A product, limited to ``MOST``."""
        if constant_of(a) is not None:
            a, b = b, a
        most = self._constant(MOST)
        if (known := constant_of(b)) is not None and known > 0:
            return ops.muli(ops.minsi(a, self._constant(MOST // int(known))), b)
        count = ops.mulf(ops.sitofp(a, type=f64), ops.sitofp(b, type=f64))
        return ops.select(ops.cmpf(count, const(float(MOST), f64), predicate="olt"), ops.muli(a, b), most)

    def _sum(self, live: Live) -> Value:
        total = self._constant(0)
        for size, count in live.items():
            if count:
                total = ops.addi(total, size if count == 1 else ops.muli(size, self._constant(count)))
        return total

    def _largest(self, peaks: Sequence[Value]) -> Value | None:
        return reduce(ops.maxsi, peaks) if peaks else None


def _is_small(memref: Value) -> bool:
    t = memref.type
    assert isinstance(t, MemRefType)
    size = scalar_bytes(t.element)
    for extent in t.shape:
        if extent is None:
            return False
        size *= extent
    return size <= SMALL


def _record_bytes(pack: Op) -> int:
    size = sum(max(8, scalar_bytes(v.type)) for v in pack.operands)
    return (size + 2 * LINE - 1) // LINE * LINE


def _allocating(module: Module) -> set[str]:
    """The functions that allocate or free memory, or call such functions."""
    direct = {name for name, func in module.funcs.items() if any(op.opdef in _MEMORY for op in func.walk())}
    return {name for name in module.funcs if not direct.isdisjoint(reachable(module, [name]))}
