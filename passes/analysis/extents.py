"""The extents of memrefs as numbers or SSA values, through views, branches and loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adc.ir import ops
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import with_enclosing
from adc.ir.types import MemRefType
from adc.passes.analysis.conditions import comparisons

# An extent: a number, an SSA value, or "dimension d of this memref".
Extent = int | Value | tuple[Value, int]
Shape = tuple[Extent, ...]
Values = tuple[Value, ...]

MAX_DEPTH = 40


class Extents:
    """Finds the shape of a memref in terms of values that dominate it, and remembers it.

    What a loop carries has the shape of its initial value if every value yielded to it has. This is assumed of all
    carried memrefs at once; those for which it fails are dropped until the rest agree. ``u = u + k`` asserts that u and
    k have one shape, and its result has that shape too.
    """

    def __init__(
        self, conditions: Mapping[Value, bool] | None = None, like: Mapping[Value, Value] | None = None
    ) -> None:
        """``conditions``: what branches decide on, as far as it is known where the answers are to hold. ``like``:
        memrefs that have the shape of another one, such as shadows."""
        self._conditions = conditions or {}
        self._like = like or {}
        self._shapes: dict[Value, Shape] = {}
        self._assumed: dict[Value, Shape] = {}
        self._provisional: dict[Value, Shape] = {}  # what follows from the assumptions
        self._chosen: dict[Value, Extent] = {}  # by select; also what follows from the assumptions
        self._level = 0  # of recursion
        self._active: set[Op] = set()  # loops being solved

    def shape(self, memref: Value) -> Shape:
        known = self._shapes.get(memref) or self._assumed.get(memref) or self._provisional.get(memref)
        if known is not None:
            return known
        if self._level == MAX_DEPTH:
            return self._unknown(memref)
        self._level += 1
        shape = self._static(memref, self._find(memref))
        self._level -= 1
        (self._provisional if self._assumed else self._shapes)[memref] = shape
        return shape

    def extent(self, value: Value) -> Extent:
        """An SSA value as an extent: equal for equal constants and equal ``memref.dim``. A value that is chosen among
        equal ones, as where an operand may be broadcast, is that one."""
        op = value.op
        if op is not None:
            if op.opdef is ops.constant:
                return int(op.attrs["value"])
            if op.opdef is ops.dim:
                return self.shape(op.operands[0])[op.attrs["dim"]]
            if op.opdef is ops.select:
                known = self._chosen.get(value)
                if known is None:
                    known = self._chosen[value] = self._one_of(value, op)
                return known
        return value

    def _one_of(self, value: Value, op: Op) -> Extent:
        if self._level == MAX_DEPTH:
            return value
        self._level += 1
        condition, *sides = op.operands
        if condition in self._conditions:
            sides = [sides[0 if self._conditions[condition] else 1]]
        found = [self.extent(side) for side in sides]
        self._level -= 1
        return found[0] if all(e == found[0] for e in found) else value

    def _unknown(self, memref: Value) -> Shape:
        assert isinstance(memref.type, MemRefType)
        return self._static(memref, tuple((memref, d) for d in range(memref.type.rank)))

    @staticmethod
    def _static(memref: Value, shape: Shape) -> Shape:
        assert isinstance(memref.type, MemRefType)
        return tuple(e if known is None else known for e, known in zip(shape, memref.type.shape, strict=True))

    def _find(self, memref: Value) -> Shape:
        op = memref.op
        if op is None:
            if memref in self._like:
                return self.shape(self._like[memref])
            block = memref.block
            loop = block.parent_op if block is not None else None
            return self._unknown(memref) if loop is None else self._carried(memref, loop, block)
        kind = op.opdef
        if kind is ops.alloc:
            dynamic = iter(op.operands)
            assert isinstance(memref.type, MemRefType)
            return tuple(self.extent(next(dynamic)) if e is None else e for e in memref.type.shape)
        if kind is ops.subview:
            rank = (len(op.operands) - 1) // 3
            sizes = op.operands[1 + rank : 1 + 2 * rank]
            return tuple(self.extent(size) for d, size in enumerate(sizes) if d not in op.attrs["dropped"])
        if kind is ops.transpose:
            shape = self.shape(op.operands[0])
            return tuple(shape[p] for p in op.attrs["permutation"])
        if kind is ops.reshape:
            return tuple(self.extent(extent) for extent in op.operands[1:])
        if kind is ops.reinterpret_cast:
            rank = len(op.attrs["static_strides"])
            return tuple(self.extent(extent) for extent in op.operands[2 : 2 + rank])
        if kind is ops.cast:
            return self.shape(op.operands[0])
        if kind is ops.undef:
            return (0,) * len(self._unknown(memref))
        if kind is ops.select:
            return self._common(memref, op.operands[1], op.operands[2])
        if kind is ops.if_:
            then, other = (region.terminator.operands[memref.index] for region in op.regions)
            taken = self._conditions.get(op.operands[0])
            if taken is not None:
                then = other = then if taken else other
            return self._common(memref, then, other, op.regions)
        if kind is ops.for_ or kind is ops.while_:
            return self._carried(memref, op, None)
        return self._unknown(memref)

    def _common(self, memref: Value, a: Value, b: Value, inside: tuple[Block, ...] = ()) -> Shape:
        unknown = self._unknown(memref)
        pairs = zip(unknown, self.shape(a), self.shape(b), strict=True)
        return tuple(x if x == y and not _defined_in(x, inside) else u for u, x, y in pairs)

    # Loops ------------------------------------------------------------------------------------------------------------

    def _carried(self, memref: Value, loop: Op, block: Block | None) -> Shape:
        """Shape of a memref that ``loop`` carries: an argument of its ``block``, or a result."""
        if loop.opdef is ops.for_:
            body = loop.regions[0]
            slot = body.args[1 + memref.index] if block is None else memref
            shape = self._slot(slot, loop, loop.operands[3:], body.args[1:], body.terminator.operands)
            # If the shape may change, the result and the argument can only name their own dimensions.
            pairs = zip(self._unknown(memref), shape, strict=True)
            return tuple(u if isinstance(e, tuple) and e[0] is slot else e for u, e in pairs)
        if loop.opdef is ops.while_:
            before, after = loop.regions
            if block is before:
                return self._slot(memref, loop, loop.operands, before.args, after.terminator.operands)
            shape = self.shape(before.terminator.operands[1 + memref.index])
            pairs = zip(self._unknown(memref), shape, strict=True)
            return tuple(u if _defined_in(e, (before,)) else e for u, e in pairs)
        return self._unknown(memref)

    def _slot(self, slot: Value, loop: Op, inits: Values, args: Values, yields: Values) -> Shape:
        shape = self._shapes.get(slot) or self._assumed.get(slot)
        if shape is None and loop not in self._active:
            if not self._active:
                # From outside in: memrefs that an outer loop carries may pass through this one.
                for outer in _loops_around(loop):
                    for memref in outer.regions[0].args[1 if outer.opdef is ops.for_ else 0 :]:
                        if isinstance(memref.type, MemRefType):
                            self._carried(memref, outer, outer.regions[0])
                            break
            shape = self._shapes.get(slot) or self._assumed.get(slot)
        if shape is None and loop not in self._active:
            self._solve(loop, inits, args, yields)
            shape = self._shapes.get(slot) or self._assumed.get(slot)
        return shape if shape is not None else self._unknown(slot)

    def _solve(self, loop: Op, inits: Values, args: Values, yields: Values) -> None:
        """Find the carried memrefs that keep the shape they start with."""
        self._active.add(loop)
        outer = self._assumed
        slots = [k for k, arg in enumerate(args) if isinstance(arg.type, MemRefType)]
        start = {k: self.shape(inits[k]) for k in slots}
        found = {args[k]: self._unknown(args[k]) for k in slots}
        equal: list[Values] = []
        while slots:
            self._assume({**outer, **{args[k]: start[k] for k in slots}})
            failed = {k for k in slots if self.shape(yields[k]) != start[k]}
            if failed:
                equal = equal or _equal_in_steps(loop)
                failed = {k for k in failed if not self._follows(self.shape(yields[k]), start[k], equal)}
            if not failed:
                break
            slots = [k for k in slots if k not in failed]
        found.update({args[k]: start[k] for k in slots})
        self._active.discard(loop)
        if outer:
            self._assume({**outer, **found})
        else:
            self._assume({})
            self._shapes.update(found)

    def equal_at(self, a: Shape, b: Shape, op: Op) -> bool:
        """Whether two shapes are equal wherever ``op`` is reached, by assertions before it and branches around."""
        return a == b or self._follows(a, b, _equal_before(op))

    def all_equal_at(self, value: Value, op: Op) -> set[Extent]:
        """Everything that is known to equal an integer wherever ``op`` is reached."""
        return _closure(self.extent(value), [{self.extent(x), self.extent(y)} for x, y in _equal_before(op)])

    def _follows(self, a: Shape, b: Shape, equal: Iterable[Values]) -> bool:
        """Whether two shapes are equal if the integers in each member of ``equal`` are."""
        pairs = [{self.extent(x), self.extent(y)} for x, y in equal]
        return all(x == y or y in _closure(x, pairs) for x, y in zip(a, b, strict=True))

    def _assume(self, shapes: dict[Value, Shape]) -> None:
        self._assumed = shapes
        self._provisional = {}
        self._chosen = {}


def shadowed(func: Func) -> dict[Value, Value]:
    """For each shadow among the arguments of ``func``, the argument whose shape it has."""
    return {
        arg: func.args[int(attrs["adc.shadow"])]
        for arg, attrs in zip(func.args, func.arg_attrs, strict=True)
        if "adc.shadow" in attrs and "adc.alias" not in attrs
    }


def _equal_in_steps(loop: Op) -> list[Values]:
    """Pairs of integers that are equal when a step of ``loop`` ends."""
    return [*_equal_before(loop), *_asserted_equal(op for region in loop.regions for op in region.ops)]


def _equal_before(op: Op) -> list[Values]:
    """Pairs of integers that are equal where ``op`` is reached."""
    found: list[Values] = []
    for one in with_enclosing(op):
        block = one.parent
        if block is None or one not in block.ops:
            continue  # a pass is about to put it in its place
        found += _asserted_equal(block.ops[: block.ops.index(one)])
        branch = block.parent_op
        if branch is not None and branch.opdef is ops.if_ and branch.regions and branch.regions[0] is block:
            found += _equal_if(branch.operands[0])
    return found


def _asserted_equal(checks: Iterable[Op]) -> list[Values]:
    return [pair for op in checks if op.opdef is ops.assert_ for pair in _equal_if(op.operands[0])]


def _equal_if(condition: Value) -> list[Values]:
    return [op.operands for op in comparisons(condition) if op.attrs["predicate"] == "eq"]


def _closure(start: Extent, equal: Iterable[set[Extent]]) -> set[Extent]:
    """Everything that equals ``start``, directly or through others."""
    found, size = {start}, 0
    while size < len(found):
        size = len(found)
        found = found.union(*(pair for pair in equal if not found.isdisjoint(pair)))
    return found


def _loops_around(op: Op) -> list[Op]:
    """The loops around an operation that may carry memrefs, outermost first.

    A loop whose body a pass is about to put in its place has no region any more.
    """
    found: list[Op] = []
    around = op.parent.parent_op if op.parent is not None else None
    while around is not None:
        if around.opdef in (ops.for_, ops.while_) and around.regions:
            found.insert(0, around)
        around = around.parent.parent_op if around.parent is not None else None
    return found


def _defined_in(extent: Extent, blocks: tuple[Block, ...]) -> bool:
    value = extent[0] if isinstance(extent, tuple) else extent
    return isinstance(value, Value) and value.block in blocks
