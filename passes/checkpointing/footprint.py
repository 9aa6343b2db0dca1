"""How much memory a function takes, as a function of its arguments.

``Footprint`` runs a function of final IR (after ``InsertDeallocs``) in the abstract: allocations add to what is live,
deallocations take away, calls are followed, branches count as the larger side unless what decides is known, and loops
count as their largest iteration. What the sizes are computed from (extents, integers, other numbers) becomes code of a
new function; what they take from memory, or from a loop of unknown length, cannot be known before, and is an error.

Bytes are those of the elements, rounded to lines of the cache, with the header that each block has in the arena. The
small fixed arrays that live in frames are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, span, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable, recursive
from adc.ir.core import UNKNOWN, Block, Func, Loc, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.schedules import FILE
from adc.ir.types import MemRefType, RecordType, f64, index, scalar_bytes
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import DIVISIONS, REGIONS
from adc.passes.checkpointing.conventions import ASKED, BLOCKS, BOUNDS, LENT, SPANS

LINE = 64
MOST = 1 << 56
"""Products of sizes that are larger are this one: nobody has so many bytes, and sums of some do not wrap around."""

SMALL = 2048
"""Arrays of a fixed size up to this many bytes are not counted."""

_MEMORY = frozenset({ops.alloc, ops.dealloc, ops.grow, ops.pack})
_ENDS = frozenset({ops.yield_, ops.condition, ops.reduce})

Path = tuple[int, ...]
Key = tuple[object, ...]
Live = Counter[Value]
"""How many blocks of each size there are."""


class Unsized(Exception):
    """A size that cannot be known before the function runs."""

    def __init__(self, loc: Loc, reason: str) -> None:
        super().__init__(reason)
        self.loc = loc
        self.reason = reason


@dataclass(eq=False)
class _Frame:
    """A call that is followed: what its arguments are, in the frame of the caller."""

    func: Func
    args: Sequence[tuple[_Frame, Value]] = ()
    extents: Extents = field(default_factory=Extents)
    calls: dict[Op, _Frame] = field(default_factory=dict)


Given = Mapping[str, Sequence[Value]]
Seen = Callable[[str, Value], None]


def _ignore(name: str, value: Value) -> None:
    pass


class Footprint:
    """Appends, at the insertion point, what it finds about one function of ``module``.

    ``results`` are values that stand for the results of calls of some functions, by name: of those that say schedules.
    ``seen`` is told whom a loop asks for its schedule, and how many steps it has; ``blocks`` the same, and how many
    bytes a snapshot has if that has a block of its own, else none. ``threads``: how many copies there
    are of what an iteration of a loop on threads allocates; None: as many as there are threads when that is asked.
    """

    def __init__(
        self, module: Module, results: Given, seen: Seen, blocks: Seen = _ignore, threads: int | None = None
    ) -> None:
        self._module = module
        self._given = results
        self._seen = seen
        self._blocks = blocks
        self._threads = threads
        self._recursive = recursive(module)
        self._allocating = _allocating(module)
        self._scopes: list[dict[Key, Value]] = [{}]
        self._unknown: set[Key] = set()

    def peak(self, func: Func, given: Sequence[Value]) -> Value:
        """The most bytes that are live at a time. ``given``: numbers, and the extents of arrays, in order."""
        frame = _Frame(func)
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

    def _block(self, frame: _Frame, block: Block) -> tuple[Value | None, Live]:
        """The largest number of bytes that are live in a block at a time, and what is left; both besides what was there
        before. None: it allocates nothing."""
        live: Live = Counter()
        peaks: list[Value] = []
        more = False  # allocated since the last peak
        for op in block.ops:
            if LENT in op.attrs:
                continue  # a tape that takes no more has that room
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

    def _freed(self, frame: _Frame, memref: Value) -> Value | None:
        """The size of what is freed. None: it does not count, or is not known, as that of what a record on a tape
        holds, which is taken to stay."""
        origin = strip_views(memref).op
        if _is_small(memref) or (origin is not None and FILE in origin.attrs):
            return None
        try:
            return self._bytes(frame, memref, UNKNOWN)
        except Unsized:
            return None

    def _nested(self, frame: _Frame, op: Op) -> tuple[Value | None, Live]:
        if op.opdef is ops.call:
            name = op.attrs["callee"]
            if name in self._recursive:
                raise Unsized(op.loc, "a recursive function allocates memory")
            called = self._called(frame, op)
            if ASKED in called.func.attrs:
                steps = self._value(frame, op.operands[1])
                if steps is None:
                    raise Unsized(op.loc, "the number of steps is not known before")
                self._seen(called.func.attrs[ASKED], steps)
            peak, left = self._block(called, called.func.body)
            # Sweeps over steps free what they make. Some of it is on tapes until then, where its size is not known.
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
        before = ops.maxsi(before, self._constant(0))  # or frees something
        return ops.addi(before, peak), Counter({self._times(each, trips): 1})

    def _own_blocks(self, frame: _Frame, loop: Op, left: Live) -> Value:
        """Of a loop that makes blocks for snapshots, the bytes of a snapshot if a block has one row, else zero."""
        made = [op.result for op in loop.regions[0].ops if op.opdef is ops.alloc]
        rows = self._component(frame, made[0], (0,)) if made else None
        if rows is None:
            return self._constant(0)
        own = ops.cmpi(rows, self._constant(1), predicate="eq")
        return ops.select(own, self._sum(left), self._constant(0))

    def _held(self, frame: _Frame, dealloc: Op) -> Value:
        """The bytes of all blocks that an array holds, which is freed."""
        (holder,) = dealloc.operands
        t = holder.type
        assert isinstance(t, MemRefType) and isinstance(t.element, MemRefType)
        count, *extents = (self._component(frame, holder, (d,)) for d in range(1 + t.element.rank))
        known = [extent for extent in extents if extent is not None]
        if count is None or len(known) < len(extents):
            raise Unsized(dealloc.loc, "the size of a snapshot is not known before")
        return self._times(self._size(scalar_bytes(t.element.element), known), count)

    def _branch(self, frame: _Frame, op: Op) -> tuple[Value | None, Live]:
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

    def _iteration(self, frame: _Frame, loop: Op) -> tuple[Value | None, Live]:
        """Of an iteration whose number is not known, or the largest of all if that matters."""
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

    def _run_all_steps(self, frame: _Frame | None) -> None:
        """In a call of a function of steps, of which only the number is known: let them be all. Then the iterations of
        its loops, in either direction, are among those that follow."""
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

    def _range(self, frame: _Frame, lower: Value, upper: Value) -> _Frame | None:
        """The call of a function of steps whose range is that between two values, if there is one."""
        (called, first), (other, last) = self._origin(frame, lower), self._origin(frame, upper)
        if called is not other or not called.func.attrs.get(SPANS):
            return None
        return called if (first, last) == called.func.args[:2] else None

    def _origin(self, frame: _Frame, value: Value) -> tuple[_Frame, Value]:
        """Where a value comes from that was handed on as it is, to functions of steps at the most."""
        while value.op is None and value.owner is frame.func.body and frame.args and not frame.func.attrs.get(SPANS):
            frame, value = frame.args[value.index]
        return frame, value

    def _largest_iteration(self, frame: _Frame, loop: Op, bounds: Sequence[Value]) -> Value:
        """Append a loop over the iterations that finds the most that one of them takes."""
        block = Block([index, index])
        with insert_at(block), self._scope():
            self._scopes[-1][frame, loop.regions[0].args[0], ()] = block.args[0]
            peak, left = self._block(frame, loop.regions[0])
            if left:
                raise Unsized(loop.loc, "a loop keeps memory whose size changes from one iteration to the next")
            build(ops.yield_, [ops.maxsi(block.args[1], peak or self._constant(0))])
        return build(ops.for_, [*bounds, self._constant(0)], {}, [index], [block]).result

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """What is appended inside cannot be used outside."""
        self._scopes.append({})
        unknown, self._unknown = self._unknown, set()
        try:
            yield
        finally:
            self._scopes.pop()
            self._unknown = unknown

    def _trips(self, frame: _Frame, loop: Op) -> Value | None:
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

    def _bytes(self, frame: _Frame, memref: Value, loc: Loc) -> Value:
        """The size of an array with its header."""
        t = memref.type
        assert isinstance(t, MemRefType)
        extents = []
        for d in range(t.rank):
            extent = self._component(frame, memref, (d,))
            if extent is None:
                raise Unsized(loc, "the size of an array is not known before")
            extents.append(extent)
        return self._size(scalar_bytes(t.element), extents)

    def _size(self, element: int, extents: Sequence[Value]) -> Value:
        """The same, by its extents."""

        def found() -> Value:
            total = self._constant(element)
            for extent in extents:
                total = self._times(total, extent)
            lines = ops.floordivsi(ops.addi(total, self._constant(2 * LINE - 1)), self._constant(LINE))
            return ops.muli(lines, self._constant(LINE))

        return self._once(("bytes", element, *extents), found)

    def _times(self, a: Value, b: Value) -> Value:
        """A product, of ``MOST`` at the most."""
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

    def _thread_count(self) -> Value:
        return self._once(("threads",), ops.threads) if self._threads is None else self._constant(self._threads)

    def _constant(self, number: int) -> Value:
        return self._once(("number", number), lambda: const_index(number))

    def _once(self, key: Key, make: Callable[[], Value]) -> Value:
        """A value that was appended before, where it can be used, or is now."""
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        self._scopes[-1][key] = found = make()
        return found

    # Values -----------------------------------------------------------------------------------------------------------

    def _value(self, frame: _Frame, value: Value) -> Value | None:
        """A number; None if it is not known before."""
        return self._component(frame, value, ())

    def _component(self, frame: _Frame, value: Value, path: Path) -> Value | None:
        """A number, an extent of an array, or such a part of what is in a record. After the extents of an array of
        arrays follow those of what it holds, which are alike."""
        key = (frame, value, path)
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        if key in self._unknown:
            return None
        found = self._find(frame, value, path)
        if found is None:
            self._unknown.add(key)
            return None
        self._scopes[-1][key] = found
        return found

    def _find(self, frame: _Frame, value: Value, path: Path) -> Value | None:
        op = value.op
        if isinstance(value.type, MemRefType) and path[0] < value.type.rank:
            extent = frame.extents.shape(value)[path[0]]
            if isinstance(extent, int):
                return self._constant(extent)
            if isinstance(extent, Value):
                return self._value(frame, extent)
            root, d = extent
            if (root, d) != (value, path[0]):
                return self._component(frame, root, (d,))
        if op is None:
            if value.owner is frame.func.body and frame.args:
                return self._component(*frame.args[value.index], path)
            return self._carried(frame, value, path) if path else None
        if op.opdef is ops.call:
            return self._result(frame, op, value.index, path)
        if op.opdef is ops.unpack:
            return self._component(frame, op.operands[0], (value.index, *path))
        if op.opdef is ops.pack:
            return self._component(frame, op.operands[path[0]], path[1:])
        if op.opdef in (ops.if_, ops.select):
            return self._either(frame, op, value.index, path)
        if op.opdef is ops.for_ and path:
            return self._carried(frame, op.regions[0].args[1 + value.index], path)
        if op.opdef is ops.dim:
            return self._component(frame, op.operands[0], (op.attrs["dim"],))
        if op.opdef is ops.alloc and isinstance(value.type, MemRefType):
            stored = [use.operands[0] for use, k in value.uses if use.opdef is ops.store and k == 1]
            return self._component(frame, stored[0], (path[0] - value.type.rank,)) if stored else None
        if op.opdef is ops.threads:
            return self._thread_count()
        if (bounds := span(value)) is not None and (called := self._range(frame, *bounds)) is not None:
            return self._value(called, called.func.args[BOUNDS - 2])
        return self._computed(frame, op, value.index) if not path else None

    def _carried(self, frame: _Frame, arg: Value, path: Path) -> Value | None:
        """An extent that all arrays have between which a loop swaps the one that it carries."""
        loop = arg.block.parent_op if arg.block is not None else None
        if loop is None or loop.opdef is not ops.for_:
            return None
        body = loop.regions[0]
        slots = [arg]
        for slot in slots:
            following = body.terminator.operands[slot.index - 1]
            if following not in body.args:
                return None
            if following not in slots:
                slots.append(following)
        first, *others = (self._component(frame, loop.operands[2 + slot.index], path) for slot in slots)
        return first if all(other is first for other in others) else None

    def _result(self, frame: _Frame, call: Op, position: int, path: Path) -> Value | None:
        name = call.attrs["callee"]
        if name in self._given:
            return self._given[name][position]
        if name in self._recursive:
            return None
        called = self._called(frame, call)
        return self._component(called, called.func.body.terminator.operands[position], path)

    def _called(self, frame: _Frame, call: Op) -> _Frame:
        if call not in frame.calls:
            func = self._module.funcs[call.attrs["callee"]]
            frame.calls[call] = _Frame(func, [(frame, v) for v in call.operands])
        return frame.calls[call]

    def _either(self, frame: _Frame, op: Op, position: int, path: Path) -> Value | None:
        if op.opdef is ops.if_:
            sides = [region.terminator.operands[position] for region in op.regions]
        else:
            sides = list(op.operands[1:])
        defined = [v for v in sides if not self._undefined(frame, v)]
        found = [part for v in defined if (part := self._component(frame, v, path)) is not None]
        if len(found) < len(defined) or not found:
            return None
        condition = self._value(frame, op.operands[0])
        if len(found) == 1 or found[0] is found[1]:
            return found[0]
        return ops.select(condition, *found) if condition is not None else None

    def _undefined(self, frame: _Frame, value: Value) -> bool:
        """Whether nobody reads the value."""
        op = value.op
        if op is None:
            return value.owner is frame.func.body and bool(frame.args) and self._undefined(*frame.args[value.index])
        if op.opdef is ops.call and op.attrs["callee"] not in self._given and op.attrs["callee"] not in self._recursive:
            called = self._called(frame, op)
            return self._undefined(called, called.func.body.terminator.operands[value.index])
        if op.opdef is ops.if_:
            return all(self._undefined(frame, region.terminator.operands[value.index]) for region in op.regions)
        return op.opdef is ops.undef

    def _computed(self, frame: _Frame, op: Op, position: int) -> Value | None:
        """A result of an operation without effects, or of a loop of such."""
        if op.opdef is ops.bound:
            return self._subscript(frame, op)
        if not _is_pure(op):
            return None
        used = list(dict.fromkeys(used_from_outside([op])))
        known = [self._value(frame, v) for v in used]
        if any(isinstance(v.type, MemRefType | RecordType) for v in used) or any(v is None for v in known):
            return None
        mapping = {old: new for old, new in zip(used, known, strict=True) if new is not None}
        if op.opdef in DIVISIONS:
            # It is computed whether or not the program would.
            divisor = mapping[op.operands[1]]
            zero = ops.cmpi(divisor, const(0, divisor.type), predicate="eq")
            mapping[op.operands[1]] = ops.select(zero, const(1, divisor.type), divisor)
        copy = clone_op(op, dict(mapping))
        for result, new in zip(op.results, copy.results, strict=True):
            self._scopes[-1][frame, result, ()] = new
        return copy.results[position]

    def _subscript(self, frame: _Frame, op: Op) -> Value | None:
        """One that is in range: what is not ends the program."""
        subscript, extent = (self._value(frame, v) for v in op.operands)
        if subscript is None or extent is None:
            return None
        negative = ops.cmpi(subscript, const(0, subscript.type), predicate="slt")
        return ops.select(negative, ops.addi(subscript, extent), subscript)


def _is_pure(op: Op) -> bool:
    if op.opdef in REGIONS:
        return all(_is_pure(inner) or inner.opdef in _ENDS for region in op.regions for inner in region.ops)
    return op.opdef.pure and op.opdef not in (ops.unpack, ops.ipowi) and not op.regions


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
    """The functions that allocate memory, or free it, or call such."""
    direct = {name for name, func in module.funcs.items() if any(op.opdef in _MEMORY for op in func.walk())}
    return {name for name in module.funcs if not direct.isdisjoint(reachable(module, [name]))}
