"""What is the same in each iteration of a loop is computed once before it, also if that takes an array.

    for step in range(n):                          w = np.exp(-x * x)
        w = np.exp(-x * x)                         e = np.empty(len(x))
        for i in range(len(x)):                    for i in range(len(x)):
            u[i] += w[i] * np.sin(k * x[i])            e[i] = np.sin(k * x[i])
                                                   for step in range(n):
                                                       for i in range(len(x)):
                                                           u[i] += w[i] * e[i]

``licm`` moves numbers, not arrays, and not numbers that belong to the iterations of an inner loop. Here the array of an
iteration is moved, with the nests that fill it, if all iterations fill it alike; and numbers of a nest that are
expensive have an array made for them, of a shape that the nest goes through anyway (loop distribution with scalar
expansion; Allen and Kennedy, Optimizing Compilers for Modern Architectures, sections 5.2 and 5.3). So the runs of a
Jacobian in forward mode share the values of the function: only tangents differ from direction to direction.

Values have the same bits as before. No array is larger than one that the program has, and those that the program might
not make have no elements if the loop does not run; up to ``MOST`` arrays are made for a loop.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import at_loc, build, current_block, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having, inside, of_kinds
from adc.ir.rewrite import Mapping, clone_op, erase_if
from adc.ir.types import MemRefType, Type, index, scalar_bytes
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of, cost_of_block, trips
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extent, Extents
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, ELEMENT, STRUCTURED, TERMINATORS, accessed
from adc.passes.building import choose
from adc.passes.distribution.invariance import Invariance, Slice, effective
from adc.passes.rewrite import put_before

EXPENSIVE = ops.MATH
"""The least cost of a number that is worth an element of an array, in the units of ``costs``."""
FEW = 4  # iterations of which the first is not worth being told from the others
MOST = 16  # arrays made for a loop
SMALL = 1 << 12  # bytes that an array may have although nothing else shows that the program has as many


@dataclass(frozen=True)
class DistributeInvariants:
    """Compute before a loop the arrays, and the expensive numbers of nests, that are the same in each iteration."""

    name: ClassVar[str] = "distribute-invariants"
    needs = COUNTED

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            _block(func.body, func, summaries)
        return module


def _block(block: Block, func: Func, summaries: Summaries) -> None:
    """Go through the outermost loops: what an iteration of a loop around others made for them, a reverse sweep would
    keep."""
    for op in list(block.ops):
        if op.opdef is ops.if_:
            for region in warm_regions(op):
                _block(region, func, summaries)
        elif op.opdef in COUNTED and trips(op) >= FEW and of_kinds(op.regions[0], COUNTED):
            motion = _Motion(Invariance(op, Memory.asked(func, summaries)))
            if motion.find():
                motion.build()


class _Motion:
    """What is moved out of a loop: ``arrays``, and numbers that have an array made for them (``made``)."""

    def __init__(self, of: Invariance) -> None:
        self.of = of
        self.integers = Integers()
        self.extents = Extents()
        used = dict.fromkeys(v for op in of.body.walk() for v in op.operands if v not in of.inner)
        self.outer = [v for v in used if isinstance(v.type, MemRefType)]  # arrays that the program has in any case
        self.runs = self.integers.proves_ge(of.loop.operands[1], of.loop.operands[0], 1)
        of.leave([array for array in of.arrays if not self._is_possible(array)])

    def _is_possible(self, array: Value) -> bool:
        """Whether an array may be made although the loop, or the branch that makes it, might not run."""
        assert array.op is not None
        at_start = array.block is self.of.body
        if self.runs and at_start:
            return True
        if not all(map(self.integers.proves_ge_zero, array.op.operands)):
            return False
        return self._is_had(array) or (at_start and bool(array.op.operands))

    def _is_had(self, array: Value) -> bool:
        """Whether the program has as large an array as one that is made in the loop, or that is small."""
        shape, kind = self.extents.shape(array), array.type
        assert isinstance(kind, MemRefType)
        numbers = [extent for extent in shape if isinstance(extent, int)]
        small = len(numbers) == len(shape) and math.prod(numbers) * scalar_bytes(kind.element) <= SMALL
        return small or self._has_shape(shape, kind.element)

    def _has_shape(self, shape: Sequence[Extent], element: Type) -> bool:
        """Whether an array that is there before the loop has such extents, in any order."""
        arrays = (v for v in self.outer if _bytes(v) >= scalar_bytes(element))
        return any(Counter(self.extents.shape(v)) == Counter(shape) for v in arrays)

    # What is worth it -------------------------------------------------------------------------------------------------

    def find(self) -> bool:
        """Choose what is moved. Returns whether that is anything."""
        of = self.of
        while True:
            self._costs: dict[Value, float] = {}
            self.stored: dict[Value, Op] = {}  # numbers that are elements of arrays that are moved
            self.made: dict[Value, None] = {}
            wanted = [array for array, writes in of.arrays.items() if any(map(self._is_expensive, writes))]
            for array in wanted:
                self._find_stored(array)
            self._costs.update(dict.fromkeys(self.stored, 0.0))
            self._find_numbers()
            moved = Slice(of)
            moved.add((), self.made)
            self.arrays: dict[Value, None] = {}
            work = wanted + self._used(moved.ops)
            while work:
                array = work.pop()
                if array not in self.arrays:
                    self.arrays[array] = None
                    moved.add(of.arrays[array])
                    work += self._used(moved.ops)
            self.moved = moved
            self.writes = [write for array in self.arrays for write in of.arrays[array]]
            stay = Slice(of, [*self.stored, *self.made])
            stay.add(effective(of, self.writes))
            reads = [op for op in stay.ops if op.opdef in (ops.load, ops.copy)]
            early = {a for op in reads for a in self._used([op]) if a in self.arrays and self._is_early(op, a)}
            if not early:
                return bool(self.made or self.arrays) and len(self.made) <= MOST
            of.leave(early)

    def _used(self, operations: Iterable[Op]) -> list[Value]:
        """The arrays that are made alike in each iteration, of those that operations use."""
        roots = (self.of.root.get(v) for op in operations for v in op.operands)
        return [root for root in roots if root in self.of.arrays]

    def _is_early(self, read: Op, array: Value) -> bool:
        """Whether ``read`` would see later values of an array if that was filled before the loop."""
        writes = self.of.arrays[array]
        if len(writes) == 1 and self._is_once(writes[0]):
            return False  # elements that it reads have no other values
        return self.of.place(read) <= max(map(self.of.place, writes))

    def _around(self, op: Op) -> list[Op]:
        """The loops around an operation in the loop, the outermost first."""
        around = [o for o in enclosing(op.parent) if o.opdef in COUNTED]
        return around[: around.index(self.of.loop)][::-1]

    def _is_once(self, write: Op) -> bool:
        """Whether a write stores to each element at most once."""
        if write.opdef is not ops.store or write.operands[1] not in self.of.arrays:
            return False
        return all(loop.regions[0].args[0] in write.operands[2:] for loop in self._around(write))

    def _is_expensive(self, write: Op) -> bool:
        """Whether what a write puts into an element, in one or several steps, is worth being kept."""
        if write.opdef is ops.copy:
            return False
        cost = self._cost(write.operands[0])
        for loop in self._around(write):
            if loop.regions[0].args[0] not in write.operands[2:] and write.opdef is not ops.fill:
                cost = (cost + ops.MEMORY) * trips(loop)
        return cost >= EXPENSIVE

    def _cost(self, value: Value) -> float:
        """The cost of computing a value of the loop again from what is in memory."""
        work = [value]
        while work:
            if work[-1] in self._costs:  # several values need it
                work.pop()
                continue
            terms = self._terms(work[-1])
            unknown = [v for v in terms if v not in self._costs]
            if unknown:
                work += unknown
            else:
                latest = work.pop()
                self._costs[latest] = self._cost_after(latest, [self._costs[v] for v in terms])
        return self._costs[value]

    def _terms(self, value: Value) -> list[Value]:
        """The numbers that are computed with a value: all for it, or one of them."""
        op = value.op
        if value not in self.of.inner or op is None or op.opdef in COUNTED:
            return []
        if op.opdef is ops.if_:
            return [region.terminator.operands[value.index] for region in op.regions]
        return [v for v in op.operands if not isinstance(v.type, MemRefType)]

    def _cost_after(self, value: Value, terms: list[float]) -> float:
        op = value.op
        if value not in self.of.inner or op is None:
            return 0.0
        if op.opdef in COUNTED:
            return trips(op) * cost_of_block(op.regions[0])
        return max(terms) if op.opdef is ops.if_ else cost_of(op.opdef) + sum(terms)

    def _find_stored(self, array: Value) -> None:
        """Note the number that fills an array, if it can be loaded wherever it is used in its iteration."""
        writes = [write for write in self.of.arrays[array] if write.opdef is not ops.fill]
        if len(writes) != 1 or not self._is_once(writes[0]):
            return
        value, _, *subscripts = writes[0].operands
        if value.op is None or value.op.parent is not writes[0].parent or value not in self.of.inner:
            return
        if all(v.op is None or v.op.opdef is ops.constant or v not in self.of.inner for v in subscripts):
            self.stored.setdefault(value, writes[0])

    def _find_numbers(self) -> None:
        """Find the expensive numbers that what differs from iteration to iteration needs."""
        of = self.of
        self.same_writes = {write for writes in of.arrays.values() for write in writes}
        for op in of.body.walk():
            if op.parent is of.body or op.parent not in of.plain or op.opdef in TERMINATORS:
                continue
            for value in op.results:
                if value not in of.known or not value.type.is_float or value in self.stored or _is_fused(op):
                    continue
                if self._is_needed(value) and self._cost(value) >= EXPENSIVE and self._has_room(value):
                    self.made[value] = None
                    self._costs[value] = 0.0

    def _is_needed(self, value: Value) -> bool:
        """Whether something needs a value that is not the same in each iteration, or is not kept itself."""
        work, seen = [value], {value}
        while work:
            for user, k in work.pop().uses:
                if self._differs(user, k):
                    return True
                if _is_fused(user) and user.result not in seen:
                    seen.add(user.result)
                    work.append(user.result)
        return False

    def _differs(self, user: Op, k: int) -> bool:
        """Whether what a user makes of its operand ``k`` is not the same in each iteration."""
        outer = user.parent.parent_op  # type: ignore[union-attr]
        if user.opdef in TERMINATORS and outer is not None and outer.opdef in STRUCTURED:
            return not self.of.is_same(outer.results[k])
        return not all(map(self.of.is_same, user.results)) if user.results else user not in self.same_writes

    def _has_room(self, value: Value) -> bool:
        """Whether an array for all instances of a value is no larger than one that the nest goes through."""
        of = self.of
        assert value.op is not None
        loops = self._around(value.op)
        if not loops or any(constant_of(o.operands[2]) != 1 for o in loops):
            return False
        if any(v in of.inner for o in loops for v in o.operands[:2]) or of.place(value.op) >= of.limit:
            return False
        from_zero = all(self.integers.proves_ge_zero(o.operands[0]) for o in loops)
        if from_zero and self._has_shape([self.extents.extent(o.operands[1]) for o in loops], value.type):
            return True
        blocks = [of.body, *(o.regions[0] for o in loops)]
        if any(o.parent is not block for o, block in zip(loops, blocks, strict=False)):
            return False  # a branch decides whether there are that many instances
        counters = {block.args[0] for block in blocks[1:]}
        for op in blocks[-1].ops:
            if op.opdef in ELEMENT and _bytes(accessed(op)[0]) >= scalar_bytes(value.type):
                parts = ([v for v in _parts(s) if inside(v, loops[0])] for s in accessed(op)[1:])
                if counters.issubset(v for (v, *others) in filter(None, parts) if not others):
                    return True  # each counter has a subscript of its own: each instance has another element
        return False

    # Moving it --------------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Put what is moved before the loop, and take it from there in the loop."""
        loop, body = self.of.loop, self.of.body
        allocs = [op for op in self.of.position if op.opdef is ops.alloc and op.result in self.arrays]
        guarded = [] if self.runs else [alloc for alloc in allocs if not self._is_had(alloc.result)]
        with insert_at(Block(), loop.loc) as before:
            runs = None if self.runs else ops.cmpi(loop.operands[0], loop.operands[1], predicate="slt")
            rooms = {value: self._room(value, runs) for value in self.made}
            for alloc in guarded:
                assert runs is not None
                alloc.set_operand(0, ops.select(runs, alloc.operands[0], const_index(0)))
        code = Block()
        mapping: Mapping = {}
        with insert_at(code, loop.loc):
            for op in body.ops:
                self._copy(op, mapping, rooms)
        for value in self.made:
            self._load(value, rooms[value], self._subscripts(value))
        for value, write in self.stored.items():
            self._load(value, write.operands[1], write.operands[2:])
        gone = set(self.writes)
        erase_if(body, gone.__contains__)
        for block in dict.fromkeys(alloc.parent for alloc in allocs):
            block.set_ops([op for op in block.ops if op not in allocs])  # type: ignore[union-attr]
        with insert_at(code if runs is None else Block(), loop.loc) as filled:
            if runs is not None:
                choose(runs, lambda: [current_block().append(op) for op in code.ops], lambda: None)
        put_before(loop, [*before.ops, *allocs, *filled.ops])

    def _room(self, value: Value, runs: Value | None) -> Value:
        """Append an array for a number of a nest, without elements if the loop does not run."""
        extents = []
        for loop in self._around(value.op):  # type: ignore[arg-type]
            extents.append(ops.maxsi(ops.subi(loop.operands[1], loop.operands[0]), const_index(0)))
        if runs is not None:
            extents[0] = ops.select(runs, extents[0], const_index(0))
        return ops.alloc(*extents, type=MemRefType((None,) * len(extents), value.type))

    def _subscripts(self, value: Value) -> list[tuple[Value, Value]]:
        assert value.op is not None
        return [(loop.regions[0].args[0], loop.operands[0]) for loop in self._around(value.op)]

    def _copy(self, op: Op, mapping: Mapping, rooms: dict[Value, Value]) -> None:
        """Append a copy of what is moved of an operation."""
        if op not in self.moved.ops or op.opdef is ops.alloc:
            return
        with at_loc(op.loc):
            if op.opdef in STRUCTURED:
                self._copy_structured(op, mapping, rooms)
            else:
                clone_op(op, mapping)
            for value in op.results:
                if value in rooms:
                    at = [ops.subi(mapping[counter], start) for counter, start in self._subscripts(value)]
                    build(ops.store, [mapping[value], rooms[value], *at])

    def _copy_structured(self, op: Op, mapping: Mapping, rooms: dict[Value, Value]) -> None:
        keep = [k for k, result in enumerate(op.results) if result in self.moved.values]
        fixed = 1 if op.opdef is ops.if_ else 3
        operands = [*op.operands[:fixed], *(op.operands[fixed + k] for k in keep if op.opdef is not ops.if_)]
        regions = []
        for region in op.regions:
            args = region.args if op.opdef is not ops.for_ else (region.args[0], *(region.args[1 + k] for k in keep))
            block = Block([a.type for a in args], [a.hint for a in args])
            mapping.update(zip(args, block.args, strict=True))
            with insert_at(block):
                for inner in region.ops[:-1]:
                    self._copy(inner, mapping, rooms)
                end = region.terminator
                attrs = dict(end.attrs)
                if end.opdef is ops.reduce:
                    attrs["kinds"] = tuple(attrs["kinds"][k] for k in keep)
                build(end.opdef, [mapping.get(end.operands[k], end.operands[k]) for k in keep], attrs)
            regions.append(block)
        attrs = dict(op.attrs)
        if "threads" in self.of.loop.attrs and op.opdef is ops.parallel and op.parent is self.of.body:
            attrs["threads"] = True
        types = [op.results[k].type for k in keep]
        made = build(op.opdef, [mapping.get(v, v) for v in operands], attrs, types, regions)
        for k, result in zip(keep, made.results, strict=True):
            result.hint = op.results[k].hint
            mapping[op.results[k]] = result

    def _load(self, value: Value, array: Value, subscripts: Sequence[Value | tuple[Value, Value]]) -> None:
        """Let all users of a value use an element of an array."""
        op = value.op
        assert op is not None and op.parent is not None
        with insert_at(Block(), op.loc) as made:
            at = [ops.subi(*v) if isinstance(v, tuple) else v for v in subscripts]
            loaded = ops.load(array, *at)
        loaded.hint = value.hint
        value.replace_uses(loaded)
        at_op = op.parent.ops.index(op) + 1
        op.parent.set_ops([*op.parent.ops[:at_op], *made.ops, *op.parent.ops[at_op:]])


def _is_fused(op: Op) -> bool:
    """Whether a product may be fused with a sum, which would have other bits if the product was kept."""
    if op.opdef is not ops.mulf or op.attrs.get("fastmath", "none") == "none":
        return False
    sums = (ops.addf, ops.subf, ops.reduce, ops.accumulate)
    return any(user.opdef in sums for user, _ in op.result.uses)


def _bytes(array: Value) -> int:
    """The bytes of an element."""
    assert isinstance(array.type, MemRefType)
    return scalar_bytes(array.type.element)


def _parts(subscript: Value) -> tuple[Value, ...]:
    """The values of which a subscript is the sum, or the difference."""
    op = subscript.op
    if op is not None and op.opdef in (ops.addi, ops.subi) and subscript.type is index:
        return op.operands
    return (subscript,)
