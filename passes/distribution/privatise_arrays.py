"""Work arrays that each iteration of a loop fills before it reads them become its own.

    r = np.empty(d)                                for p in range(n):
    for p in range(n):                                 r = np.empty(d)
        for i in range(d):                             for i in range(d):
            r[i] = x[p, i] - m[i]                          r[i] = x[p, i] - m[i]
        s += norm(r)                                   s += norm(r)

Iterations shared nothing but the memory: now they are independent, except for sums, and so is what a reverse sweep does
for each of them, which would otherwise have to go through the shadow of the array in order. This is done if nothing
else prevents a parallel loop. If iterations run in order after all, ``share-arrays`` makes the arrays one again.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, section 5.4 (scalar
and array renaming) and 6.2.1 (privatization).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import OWN
from adc.ir.nesting import enclosing, having, inside, place_in
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.extents import Extents
from adc.passes.rewrite import put_before
from adc.passes.threads.parallelise import integer_reduction

_WRITES = frozenset({ops.store, ops.fill, ops.copy})
_KNOWN = _WRITES | {ops.load, ops.dim}
_COUNTED = frozenset({ops.for_, ops.parallel})


@dataclass(frozen=True)
class PrivatiseArrays:
    """Give each iteration of a loop work arrays of its own, if these are all that iterations share."""

    name: ClassVar[str] = "privatise-arrays"
    needs = frozenset({ops.alloc})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            made: set[Value] = set()
            while _is_changed(func, module, summaries, made):
                pass
        return module


def _is_changed(func: Func, module: Module, summaries: Summaries, made: set[Value]) -> bool:
    """Change one loop that qualifies, outer ones first, and add its new arrays to ``made``."""
    allocated = [op.result for op in func.walk() if op.opdef is ops.alloc]
    works = [v for v in allocated if v not in made and _is_plain(v)]
    if not works:
        return False
    return _Privatisation(works, Analysis(func, module, summaries), made).block(func.body)


def _is_plain(memref: Value) -> bool:
    """Whether an array is only used to load and store its elements."""
    uses = [op for op, _ in memref.uses]
    return all(op.opdef in _KNOWN for op in uses) and any(op.opdef is ops.load for op in uses)


class _Privatisation:
    def __init__(self, works: Sequence[Value], analysis: Analysis, made: set[Value]) -> None:
        self.works = works
        self.made = made
        self.analysis = analysis
        self.extents = Extents()

    def block(self, block: Block) -> bool:
        for op in block.ops:
            if op.opdef is ops.for_ and self._loop(op):
                return True
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    if self.block(region):
                        return True
        return False

    def _loop(self, loop: Op) -> bool:
        """Give iterations of ``loop`` arrays of their own, if possible. Returns whether that was done."""
        shared = [v for v in self.works if not inside(v, loop) and _touched(v, loop)]
        if not shared or not all(integer_reduction(loop, k) or _is_sum(loop, k) for k in range(len(loop.results))):
            return False
        private = [v for v in shared if self._is_private(v, loop)]
        if not private:  # seen sooner than what iterations share
            return False
        others_first = sorted(self.analysis.accesses(loop).found, key=lambda access: access.base in private)
        needed: set[Value] = set()
        for a, b in self.analysis.conflicts(loop, others_first):
            if a.kind == b.kind == "accumulate":
                continue
            if a.base not in private or b.base not in private:
                return False
            needed |= {a.base, b.base}
        self.made.update(_give_own(v, loop) for v in private if v in needed)
        return bool(needed)

    def _is_private(self, memref: Value, loop: Op) -> bool:
        """Whether an iteration reads only what it wrote, and what it leaves is not read elsewhere."""
        if not self._is_filled(loop.regions[0], memref):
            return False
        elsewhere = [op for op, _ in memref.uses if not _is_in(op, loop) and _reads(op, memref)]
        return all(self._is_apart(op, memref, loop) for op in elsewhere)

    def _is_apart(self, read: Op, memref: Value, loop: Op) -> bool:
        """Whether a read is in another loop, each iteration of which reads only what it wrote."""
        for around in enclosing(read.parent):
            if _is_in(loop, around):
                return False
            if around.opdef in _COUNTED and self._is_filled(around.regions[0], memref):
                return True
        return False

    def _is_filled(self, block: Block, memref: Value) -> bool:
        """Whether nothing in ``block`` reads what was in ``memref`` before."""
        for op in _touching(block, memref):
            if self._covers(op, memref, ()):
                return True
            if op.opdef in _COUNTED or op.opdef is ops.if_:
                if not all(self._is_filled(region, memref) for region in op.regions):
                    return False
            elif op.opdef is not ops.dim:
                return False
        return True

    def _covers(self, op: Op, memref: Value, counters: tuple[Value, ...]) -> bool:
        """Whether ``op`` writes all elements with ``counters`` as first subscripts, and reads none of them before."""
        if op.opdef is ops.fill or op.opdef is ops.copy:
            return not counters and op.operands[1] is memref and op.operands[0] is not memref
        shape = self.extents.shape(memref)
        if op.opdef is ops.store:
            return op.operands[1] is memref and len(counters) == len(shape) and tuple(op.operands[2:]) == counters
        if op.opdef not in _COUNTED or len(counters) == len(shape):
            return False
        start, end, step = op.operands[:3]
        whole = self.extents.extent(end) == shape[len(counters)]
        if constant_of(start) != 0 or constant_of(step) != 1 or not whole:
            return False
        own = (*counters, op.regions[0].args[0])
        touching = [o for o in _touching(op.regions[0], memref) if o.opdef is not ops.dim]
        if not touching or not self._covers(touching[0], memref, own):
            return False
        loads = [o for o, _ in memref.uses if o.opdef is not ops.store and o.opdef is not ops.dim and _is_in(o, op)]
        return all(o.opdef is ops.load and tuple(o.operands[1 : 1 + len(own)]) == own for o in loads)


def _is_sum(loop: Op, k: int) -> bool:
    """Whether the value that a loop carries at position ``k`` is a float to which it and inner loops only add."""
    body = loop.regions[0]
    value = body.args[1 + k]
    while value.type.is_float and len(value.uses) == 1:
        ((op, position),) = value.uses
        if op is body.terminator:
            return position == k
        n = position - 3
        if op.parent is not body:
            return False
        if op.opdef is ops.addf or (op.opdef is ops.subf and position == 0):
            value = op.result
        elif (op.opdef is ops.for_ and n >= 0 and _is_sum(op, n)) or _reduces(op, n):
            value = op.results[n]
        else:
            return False
    return False


def _reduces(op: Op, n: int) -> bool:
    """Whether a parallel loop adds to its operand ``n``."""
    return op.opdef is ops.parallel and n >= 0 and op.regions[0].terminator.attrs["kinds"][n] == "add"


def _is_in(op: Op, around: Op) -> bool:
    return around in enclosing(op.parent)


def _touched(memref: Value, loop: Op) -> bool:
    return any(op.opdef in _WRITES and _is_in(op, loop) for op, _ in memref.uses)


def _reads(op: Op, memref: Value) -> bool:
    return op.opdef is ops.load or (op.opdef is ops.copy and op.operands[0] is memref)


def _touching(block: Block, memref: Value) -> Iterable[Op]:
    """The operations of a block that use a memref, or that contain such operations."""
    places = {place_in(block, user) for user, _ in memref.uses}
    return [op for op in block.ops if op in places]


def _give_own(memref: Value, loop: Op) -> Value:
    """A new array for each iteration in place of ``memref``."""
    made, body = memref.op, loop.regions[0]
    assert made is not None and isinstance(memref.type, MemRefType)
    with insert_at(Block(), made.loc) as new:
        own = build(ops.alloc, made.operands, {**made.attrs, OWN: True}).result
    own.hint = memref.hint
    put_before(body.ops[0], new.ops)
    for op, position in list(memref.uses):
        if _is_in(op, loop):
            op.set_operand(position, own)
    return own
