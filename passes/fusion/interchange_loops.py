"""Loop interchange and array contraction: loops over steps around statements on whole arrays run element by element.

    for c in range(k):                              parallel p:
        s = np.zeros(n)                                 for c in range(k):
        for j in range(d):                                  s = 0.0
            s += (x[:, j] - y[c, j]) ** 2                   for j in range(d):
        least = np.minimum(least, s)                            s += (x[p, j] - y[c, j]) ** 2
                                                            least[p] = min(least[p], s)

Each statement goes through all elements before the next one begins, so the arrays between them go through memory in
each step, and a reverse sweep keeps them. If no element depends on another one, the loop over elements may be the
outermost: what was an array is a number, and ``vectorise-outer`` lets many elements go through the steps side by side.

This is done if a step has several loops over elements: with only one, the array goes through memory once. What is
written must be arrays of one dimension, which all loops in the nest subscript by the element alone; other arrays that
are read must not be changed in the nest.

It is also done if steps go along the rows of arrays, as where each path of a simulation is a row, or each column of the
air lies along the last axis:

    for t in range(1, n):                           parallel p:
        s[:, t] = s[:, t - 1] * g[:, t]                 for t in range(1, n):
                                                            s[p, t] = s[p, t - 1] * g[p, t]

A statement on one column of an array touches a line of the cache for each element; element by element, the steps go
through memory in its order. So do those of ``for j: s += x[:, j]``, which only reads rows. An array of rows that is
written must have the element at one place among its subscripts, the same in the whole nest and not the last, so that no
element touches the row of another.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, section 5.2.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.schedules import SCHEDULE
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import DIVISIONS, PURE, STRUCTURED, TERMINATORS, accessed
from adc.passes.rewrite import put_instead

_EXTREMES = {ops.minimumf, ops.maximumf, ops.minnumf, ops.maxnumf}
_ACCESSES = {ops.load, ops.store}
_IN_NESTS = STRUCTURED | TERMINATORS | _ACCESSES

FEWEST = 2  # loops over elements in a step, including fills of arrays


@dataclass(frozen=True)
class InterchangeLoops:
    """Move loops over elements outside loops over steps, if no element depends on another one. ``extremes``: also if
    minima or maxima of arrays are taken, other than running ones. That is for code that is not differentiated any more:
    equal elements share the derivative, so that both are kept, for each element and step."""

    extremes: bool = False
    name: ClassVar[str] = "interchange-loops"
    needs = frozenset({ops.for_})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            if any(op.opdef is ops.for_ and not op.results for op in func.walk()):
                _block(func.body, func, module, self.extremes)
        return module


def _block(block: Block, func: Func, module: Module, extremes: bool) -> None:
    for op in list(block.ops):
        if op.opdef is ops.for_ and not op.results and SCHEDULE not in op.attrs:
            steps = _Steps(op)
            if steps.can_be_interchanged(Aliasing.asked(func, module)) and (extremes or steps.has_no_other_extremes()):
                steps.interchange()
                continue
        if op.opdef is not ops.parallel:
            for region in warm_regions(op):
                _block(region, func, module, extremes)


@dataclass(eq=False)
class _Steps:
    """A loop over steps, the ``nests`` and ``fills`` in it that go over elements, and their arrays."""

    loop: Op
    nests: list[Op] = field(default_factory=list)
    fills: list[Op] = field(default_factory=list)
    written: dict[Value, None] = field(default_factory=dict)
    read: dict[Value, None] = field(default_factory=dict)
    made: dict[Value, Op] = field(default_factory=dict)  # arrays that live in a step
    rows: set[Value] = field(default_factory=set)  # written arrays with a row for each element
    extents: Extents = field(default_factory=Extents)

    # Whether it can be done ------------------------------------------------------------------------------------------

    def can_be_interchanged(self, alias: Aliasing) -> bool:
        """Whether everything in the loop goes over the same elements, or is the same for all of them, and it pays."""
        if not self._known(self.loop.regions[0]) or not self._by_element():
            return False
        several = not self.rows and len(self.nests) + len(self.fills) >= FEWEST
        return (several or self._goes_along_rows()) and self._are_apart(alias)

    def _known(self, block: Block) -> bool:
        for op in block.ops[:-1]:
            if op.opdef is ops.parallel:
                if op.results or not self._goes_over(op) or not all(map(self._in_nest, op.regions[0].walk())):
                    return False
                self.nests.append(op)
            elif op.opdef is ops.fill:
                self.fills.append(op)
                self.written[op.operands[1]] = None
            elif op.opdef is ops.alloc:
                self.made[op.result] = op
            elif op.opdef is ops.load:
                self.read[op.operands[0]] = None
            elif op.opdef in (ops.for_, ops.if_):
                if any(isinstance(r.type, MemRefType) for r in op.results) or SCHEDULE in op.attrs:
                    return False
                if not all(map(self._known, op.regions)):
                    return False
            elif op.opdef not in PURE or op.opdef in DIVISIONS or _gives_memory(op):
                return False
        return True

    def _in_nest(self, op: Op) -> bool:
        if op.opdef is ops.load:
            self.read[op.operands[0]] = None
        elif op.opdef is ops.store:
            self.written[op.operands[1]] = None
        elif op.opdef in PURE:
            return not _gives_memory(op)
        return op.opdef in _IN_NESTS

    def _goes_over(self, nest: Op) -> bool:
        lower, upper, step = nest.operands[:3]
        if constant_of(lower) != 0 or constant_of(step) != 1 or inside(upper, self.loop):
            return False
        return not self.nests or self._is_extent(upper)

    def _is_extent(self, known: Value) -> bool:
        """Whether an integer, or the extent of an array, is the number of elements that the first nest goes over."""
        extents = self.extents
        extent = extents.shape(known)[0] if isinstance(known.type, MemRefType) else extents.extent(known)
        return extents.equal_at((extent,), (extents.extent(self.nests[0].operands[1]),), self.loop)

    def _by_element(self) -> bool:
        """Whether each array that is written has as many elements as the loops go over and is subscripted by them, or
        has a row for each element."""
        if not self.nests or not self.written.keys() >= self.made.keys():
            return False
        for memref in self.written:
            t = memref.type
            assert isinstance(t, MemRefType)
            if isinstance(t.element, MemRefType) or (memref not in self.made and inside(memref, self.loop)):
                return False
            if t.rank > 1 and memref not in self.made and self._has_rows(memref):
                self.rows.add(memref)
            elif t.rank != 1 or not self._is_extent(memref) or not self._has_elements(memref):
                return False
        return True

    def _has_elements(self, memref: Value) -> bool:
        for user, k in memref.uses:
            if not self._is_inside(user):
                if memref in self.made:
                    return False
            elif user.opdef not in (ops.load, ops.store, ops.fill, ops.dim) or not self._at_element(user, k):
                return False
        return True

    def _has_rows(self, memref: Value) -> bool:
        """Whether all accesses in the loop have the element at one place, which is not the last."""
        assert isinstance(memref.type, MemRefType)
        places = set(range(memref.type.rank - 1))
        for user, k in memref.uses:
            if not self._is_inside(user) or user.opdef is ops.dim:
                continue
            nest = self._nest_of(user)
            if nest is None or user.opdef not in _ACCESSES:
                return False
            element, at = nest.regions[0].args[0], user.operands[k + 1 :]
            places = {place for place in places if at[place] is element}
        return bool(places)

    def _goes_along_rows(self) -> bool:
        """Whether more accesses go along the last axis with the steps than with the elements."""
        along = across = 0
        for nest in self.nests:
            for op in nest.regions[0].walk():
                if op.opdef in _ACCESSES and len(accessed(op)) > 2:
                    last = op.operands[-1]
                    along += inside(last, self.loop) and not inside(last, nest)
                    across += last is nest.regions[0].args[0]
        return along > across

    def _is_inside(self, op: Op) -> bool:
        return any(around is self.loop for around in enclosing(op.parent))

    def _at_element(self, user: Op, operand: int) -> bool:
        if user.opdef is ops.fill or user.opdef is ops.dim:
            return user.opdef is ops.dim or operand == 1
        nest = self._nest_of(user)
        return nest is not None and user.operands[operand + 1] is nest.regions[0].args[0]

    def _nest_of(self, op: Op) -> Op | None:
        return next((around for around in enclosing(op.parent) if around in self.nests), None)

    def _are_apart(self, alias: Aliasing) -> bool:
        """Whether arrays that are written have no other name in the nest."""
        others = [*self.read, *self.written]
        return not any(a is not b and alias.may_overlap(a, b) for a in self.written for b in others)

    def has_no_other_extremes(self) -> bool:
        """Whether extremes are at most running ones, of what has the same bits when it is computed again: for each
        element, differentiation keeps their place alone if the loop carries nothing else."""
        body = list(self.loop.regions[0].walk())
        found = [op for op in body if op.opdef in _EXTREMES]
        if not found:
            return True
        carried = [memref for memref in self.written if memref not in self.made]
        return len(carried) == 1 and all(map(_is_running, found)) and not any(op.opdef.called for op in body)

    # How it is done --------------------------------------------------------------------------------------------------

    def interchange(self) -> None:
        loop = self.loop
        body = Block([index], [self.nests[0].regions[0].args[0].hint])
        element = body.args[0]
        mapping: Mapping = {}
        outer = [memref for memref in self.written if memref not in self.made and memref not in self.rows]
        with insert_at(body, loop.loc):
            zero = const_index(0)
            for memref in outer:
                mapping[memref] = _number_like(memref)
                build(ops.store, [ops.load(memref, element), mapping[memref], zero])
            self._copy(loop, mapping, element, zero)
            for memref in outer:
                build(ops.store, [ops.load(mapping[memref], zero), memref, element])
            build(ops.reduce, [], {"kinds": ()})
        with insert_at(Block(), loop.loc) as before:
            bounds = [const_index(0), self.nests[0].operands[1], const_index(1)]
            build(ops.parallel, bounds, {"threads": True}, [], [body])
        put_instead(loop, before.ops)
        loop.drop()

    def _copy(self, op: Op, mapping: Mapping, element: Value, zero: Value) -> None:
        """Append the effect of an operation for one element."""
        if op in self.nests:
            mapping[op.regions[0].args[0]] = element
            for inner in op.regions[0].ops[:-1]:
                self._copy(inner, mapping, element, zero)
        elif op.opdef is ops.alloc:
            mapping[op.result] = _number_like(op.result)
        elif op.opdef is ops.fill:
            build(ops.store, [mapping.get(op.operands[0], op.operands[0]), mapping[op.operands[1]], zero])
        elif op.opdef in _ACCESSES and accessed(op)[0] in self.rows:
            clone_op(op, mapping)
        elif op.opdef is ops.load and op.operands[0] in self.written:
            mapping[op.result] = ops.load(mapping[op.operands[0]], zero)
            mapping[op.result].hint = op.result.hint
        elif op.opdef is ops.store:
            build(ops.store, [mapping.get(op.operands[0], op.operands[0]), mapping[op.operands[1]], zero])
        elif op.opdef is ops.dim and op.operands[0] in self.made:
            mapping[op.result] = self.nests[0].operands[1]
        elif op.opdef is ops.dim:
            mapping[op.result] = ops.dim(op.operands[0], dim=op.attrs["dim"])
        elif op.regions:
            regions = []
            for region in op.regions:
                made = Block([a.type for a in region.args], [a.hint for a in region.args])
                mapping.update(zip(region.args, made.args, strict=True))
                with insert_at(made):
                    for inner in region.ops:
                        self._copy(inner, mapping, element, zero)
                regions.append(made)
            operands = [mapping.get(v, v) for v in op.operands]
            copy = build(op.opdef, operands, dict(op.attrs), [r.type for r in op.results], regions)
            for old, new in zip(op.results, copy.results, strict=True):
                mapping[old] = new
                new.hint = old.hint
        else:
            clone_op(op, mapping)


def _is_running(op: Op) -> bool:
    """Whether an extreme replaces the element that is one of its operands: no other value is kept for it."""
    users = [user for user, _ in op.result.uses]
    if len(users) != 1 or users[0].opdef is not ops.store or op.opdef not in (ops.minimumf, ops.maximumf):
        return False
    before = [v.op for v in op.operands if v.op is not None and v.op.opdef is ops.load]
    return any(load.operands == users[0].operands[1:] and len(load.result.uses) == 1 for load in before)


def _gives_memory(op: Op) -> bool:
    return any(isinstance(r.type, MemRefType) for r in op.results)


def _number_like(memref: Value) -> Value:
    """Append an array with a single element of the type of those of ``memref``."""
    assert isinstance(memref.type, MemRefType)
    made = ops.alloc(type=MemRefType((1,), memref.type.element))
    made.hint = memref.hint
    return made
