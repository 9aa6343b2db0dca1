"""Moving some accumulations out of a parallel loop nest, with what computes their terms, into a nest of their own.

The new nest runs before what is left of the old one. That is right if what it reads is already in memory: it must not
read what the old nest writes in another iteration, or earlier in the same one; and nothing else may touch what it adds
to. (An adjoint first loads the cotangent of what an iteration stored, then zeroes it: the zeroing stays in the old
nest.)
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from adc.ir import ops
from adc.ir.builder import current_block, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.affine import never_zero
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.analysis.form_conditions import TRUE
from adc.passes.analysis.kinds import COUNTED, TERMINATORS
from adc.passes.analysis.ranges import Ranges

Accumulations = Sequence[Op]


class Fission:
    """One outermost parallel loop, its accesses, and the selection of its operations for some purpose."""

    def __init__(self, analysis: Analysis, loop: Op) -> None:
        self.analysis = analysis
        self.loop = loop
        self.accesses = analysis.accesses(loop)
        self.position = {op: n for n, op in enumerate(loop.regions[0].walk())}
        # Each group of accumulations asks about much the same pairs of accesses.
        self._meetings: dict[tuple[Access, Access], bool] = {}
        self._orders: dict[tuple[Access, Access], bool] = {}

    # What is needed ---------------------------------------------------------------------------------------------------

    def slice(self, values: Iterable[Value], kept: Container[Value] = ()) -> set[Op]:
        """The operations of the loop that compute ``values`` from those ``kept``. Those around them are not
        included."""
        needed: set[Op] = set()
        work = list(values)
        while work:
            value = work.pop()
            if value in kept:
                continue
            op = value.op
            if op is None or op not in self.position:
                block = value.owner if isinstance(value.owner, Block) else None
                outer = block.parent_op if block is not None else None
                # An argument of an inner loop that carries values is obtained by running that loop.
                if outer is None or outer not in self.position or value.index == 0:
                    continue
                op = outer
            if op in needed:
                continue
            needed.add(op)
            work += op.operands
            for region in op.regions:
                work += region.terminator.operands
                needed.add(region.terminator)
        return needed

    def with_surroundings(self, accumulations: Accumulations) -> set[Op]:
        """``accumulations``, what they need, and the loops and branches around them, with what those need."""
        return set(accumulations) | self.surroundings(accumulations, [v for op in accumulations for v in op.operands])

    def surroundings(self, accumulations: Accumulations, values: Iterable[Value]) -> set[Op]:
        """What computes ``values``, and the loops and branches around ``accumulations``, with what those need."""
        needed: set[Op] = set()
        wanted = list(values)
        for op in accumulations:
            for outer in enclosing(op.parent):
                if outer is self.loop:
                    break
                needed.add(outer)
                wanted += outer.operands if outer.opdef is not ops.parallel else outer.operands[:3]
                if outer.opdef is not ops.parallel:
                    for region in outer.regions:
                        needed.add(region.terminator)
                        wanted += region.terminator.operands
        return needed | self.slice(wanted)

    # Legality ---------------------------------------------------------------------------------------------------------

    def obstacle(self, needed: set[Op], accumulations: Accumulations) -> str | None:
        """Why ``needed``, which computes the terms of ``accumulations``, cannot run beforehand; None if it can."""
        moved = set(accumulations)
        for op in (op for op in self.position if op in needed and op not in moved):
            made = not op.opdef.pure and any(isinstance(r.type, MemRefType) for r in op.results)
            if made or not _repeatable(op):
                return f"{op.opdef.name} in line {op.loc.line} cannot be repeated"
        for op in self.position:
            if op.opdef is ops.call and any(isinstance(v.type, RecordType) for v in op.operands):
                return f"the call in line {op.loc.line} may touch anything"
        mine = [a for a in self.accesses.found if a.op in moved]
        others = [a for a in self.accesses.found if a.op not in moved]
        reads = [a for a in others if a.op in needed]
        for access in others:
            for target in mine:
                if (access.kind != "accumulate") and not self._never_meet(access, target):
                    return f"line {access.op.loc.line} uses what line {target.op.loc.line} adds to"
                if access.kind == "accumulate" and not self._apart(access, target) and access.base is not target.base:
                    return f"lines {access.op.loc.line} and {target.op.loc.line} may add to overlapping arrays"
        for read in reads:
            for write in others:
                if write.changes and not self._reads_before(read, write):
                    return f"line {read.op.loc.line} reads what line {write.op.loc.line} writes"
        return None

    def _apart(self, a: Access, b: Access) -> bool:
        return self.analysis.apart(a, b, self.loop)

    def _levels(self, a: Access, b: Access) -> list[Op]:
        """The loops around both, the outermost first."""
        around_b = set(enclosing(b.op.parent))
        around = [o for o in enclosing(a.op.parent) if o in around_b and (o.opdef in COUNTED or o.opdef is ops.while_)]
        return around[: around.index(self.loop) + 1][::-1]

    def _other_iterations_apart(self, a: Access, b: Access) -> bool:
        """Whether the two never meet in different iterations of the loops around both, including sequential ones."""
        return all(level.opdef in COUNTED and self.analysis.independent(a, b, level) for level in self._levels(a, b))

    def _never_meet(self, a: Access, b: Access) -> bool:
        found = self._meetings.get((a, b))
        if found is None:
            found = self._meetings[a, b] = self._find_apart(a, b)
        return found

    def _find_apart(self, a: Access, b: Access) -> bool:
        if self._apart(a, b):
            return True
        if a.base is not b.base or not self._other_iterations_apart(a, b):
            return False
        return self._same_iteration_apart(a, b)

    def _same_iteration_apart(self, a: Access, b: Access) -> bool:
        if a.where is None or b.where is None:
            return False
        levels = self._levels(a, b)
        if any(not self._fixed(access, levels) for access in (a, b)):
            return False
        ranges = Ranges(self.analysis.forms)
        for (low, high), (least, greatest) in zip(a.where, b.where, strict=True):
            if low is high and never_zero(low - least):
                return True
            if ranges.nonnegative(least - high - 1) == TRUE or ranges.nonnegative(low - greatest - 1) == TRUE:
                return True
        return False

    def _fixed(self, access: Access, levels: list[Op]) -> bool:
        """Whether the access is to a single place in one iteration of ``levels``."""
        assert access.where is not None
        counters = {level.regions[0].args[0] for level in levels}
        symbols = {s for low, high in access.where for s in low.symbols() | high.symbols()}
        return all(s.value in counters or not inside(s.value, self.loop) for s in symbols)

    def _reads_before(self, read: Access, write: Access) -> bool:
        """Whether ``write`` never changes what ``read`` reads before it is read."""
        found = self._orders.get((read, write))
        if found is None:
            found = self._orders[read, write] = self._find_order(read, write)
        return found

    def _find_order(self, read: Access, write: Access) -> bool:
        if self._apart(read, write):
            return True
        if read.base is not write.base or not self._other_iterations_apart(read, write):
            return False
        if self._same_iteration_apart(read, write):
            return True
        levels = self._levels(read, write)
        in_one = all(self._innermost(access.op) is levels[-1] for access in (read, write))
        return in_one and (self.position[read.op] < self.position[write.op] or _exclusive(read.op, write.op))

    def _innermost(self, op: Op) -> Op | None:
        """The innermost loop around ``op``."""
        return next((o for o in enclosing(op.parent) if o.opdef in COUNTED or o.opdef is ops.while_), None)

    # Copies -----------------------------------------------------------------------------------------------------------

    def copy(self, needed: set[Op], mapping: Mapping | None = None) -> Op:
        """Append a nest of only the operations ``needed``. ``mapping``: replacements of values from outside."""
        return self._copy_loop(self.loop, needed, {} if mapping is None else mapping)

    def _copy_loop(self, loop: Op, needed: set[Op], mapping: Mapping) -> Op:
        """A parallel loop without its reductions."""
        (body,) = loop.regions
        block = Block([a.type for a in body.args], [a.hint for a in body.args])
        mapping.update(zip(body.args, block.args, strict=True))
        with insert_at(block):
            self.copy_ops(body, needed, mapping)
            current_block().append(Op(ops.reduce, (), (), {"kinds": ()}, loc=body.terminator.loc))
        bounds = [mapping.get(v, v) for v in loop.operands[:3]]
        return current_block().append(Op(ops.parallel, bounds, (), dict(loop.attrs), [block], loop.loc))

    def copy_ops(self, block: Block, needed: set[Op], mapping: Mapping) -> None:
        """Append copies of the operations of ``block`` that are ``needed``, without its terminator."""
        for op in block.ops[:-1]:
            if op not in needed:
                continue
            if not op.regions:
                clone_op(op, mapping)
            elif op.opdef is ops.parallel and op.regions[0].terminator not in needed:
                self._copy_loop(op, needed, mapping)
            else:
                self._copy_region_op(op, needed, mapping)

    def _copy_region_op(self, op: Op, needed: set[Op], mapping: Mapping) -> None:
        regions = []
        for region in op.regions:
            block = Block([a.type for a in region.args], [a.hint for a in region.args])
            mapping.update(zip(region.args, block.args, strict=True))
            with insert_at(block):
                self.copy_ops(region, needed, mapping)
                clone_op(region.terminator, mapping)
            regions.append(block)
        operands = [mapping.get(v, v) for v in op.operands]
        copy = Op(op.opdef, operands, [r.type for r in op.results], dict(op.attrs), regions, op.loc)
        mapping.update(zip(op.results, copy.results, strict=True))
        current_block().append(copy)


def _exclusive(a: Op, b: Op) -> bool:
    """Whether the two are in different branches of one ``scf.if``, so that an iteration runs at most one of them."""
    branches = dict(_branches(a))
    return any(branches.get(outer, region) is not region for outer, region in _branches(b))


def _branches(op: Op) -> Iterator[tuple[Op, Block]]:
    """The branches around ``op`` within its innermost loop."""
    block = op.parent
    while block is not None and (outer := block.parent_op) is not None and outer.opdef is ops.if_:
        yield outer, block
        block = outer.parent


def _repeatable(op: Op) -> bool:
    """Whether running ``op`` again changes nothing: at most, it reads."""
    return bool(op.regions) or op.opdef.pure or op.opdef in _REPEATABLE


_REPEATABLE = TERMINATORS | {ops.load, ops.bound}


def effects_left(loop: Op, gone: set[Op]) -> bool:
    """Whether ``loop`` still does anything without the operations ``gone``."""
    if any(r.uses for r in loop.results):
        return True
    return any(not (o.opdef.pure or o in gone or o.opdef in _INERT or o.regions) for o in loop.regions[0].walk())


_INERT = TERMINATORS | {ops.load, ops.alloc, ops.dealloc}
