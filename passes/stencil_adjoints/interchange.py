"""Moving the loops that an element's subscripts follow to the outside: ``bbar[k, j] += a[i, k] * cbar[i, j]``.

Iterations of the loop over ``i`` meet in one element, those of the loops over ``j`` and ``k`` do not. If the loop over
``i`` is inside the one over ``k``, which then runs on threads, each element gets its terms one after the other. The
loop along the last dimension of the array stays innermost, for SIMD; if it is the only one, the terms are summed in a
register instead.

If what is loaded lies side by side along one of the loops summed over, that one is innermost and reduces: each element
is then loaded and stored once for a whole row, which is SIMD however few elements there are, as for the weights of a
convolution. Where the rows are short, ``narrow-rows`` puts elements side by side again.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping
from adc.ir.types import MemRefType, index
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.costs import cost_of, cost_of_block, trips
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.analysis.kinds import COUNTED, PURE
from adc.passes.building import choose
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.gather import both

REPEATED = 40.0
"""The greatest cost of values that the innermost loop uses from the loops around it: after the interchange each
iteration computes them. That allows a few operations, and no sum."""

TWICE = 12.0
"""The least cost of what is rather not computed twice in each iteration."""


@dataclass(frozen=True)
class Interchange:
    """One accumulation: the loops that its subscripts follow, that of the last dimension last, and the loops summed
    over. ``row``: that of ``sums``, the last one then, along which what is loaded lies side by side."""

    op: Op
    axes: tuple[Op, ...]
    sums: tuple[Op, ...]
    row: Op | None = None


def recognise_interchange(fission: Fission, op: Op) -> Interchange | None:
    """How the loops around ``op`` can be reordered so that an outermost one is parallel; None if they cannot."""
    forms = fission.analysis.forms
    access = next(a for a in fission.accesses.found if a.op is op)
    chain = list(enclosing(op.parent))
    chain = chain[: chain.index(fission.loop) + 1][::-1]
    if access.where is None or any(o.opdef not in COUNTED for o in chain) or inside(op.operands[1], fission.loop):
        return None
    bounds = [s for o in chain for v in o.operands[:3] for s in forms.of(v).symbols()]
    if any(inside(s.value, fission.loop) for s in bounds):
        return None
    counters = {forms.symbol(o.regions[0].args[0]): o for o in chain}
    axes: list[Op] = []
    for form, _ in access.where:
        found = [s for s in form.symbols() if s in counters]
        rest = form
        for symbol in found:
            factor, rest = rest.split(symbol)
            if len(found) > 1 or not factor.is_constant or counters[symbol] in axes:
                return None
            axes.append(counters[symbol])
        if any(inside(s.value, fission.loop) for s in rest.symbols()):
            return None
    sums = [o for o in chain if o not in axes]
    if not axes or not sums:
        return None
    needed = fission.slice(op.operands)
    carried = {a for o in chain for a in o.regions[0].args[1:]}
    if any(v in carried for o in (*needed, op) for v in o.operands) or needed & set(chain):
        return None
    # Nothing that a sequential loop reads changes in the nest; otherwise this would find an obstacle.
    if fission.obstacle(needed | {op}, [op]) is not None:
        return None
    if sum(map(cost_once, needed - set(chain[-1].regions[0].walk()))) > REPEATED:
        return None
    # The last dimension's loop goes inside, the others keep their order.
    outer = [o for o in chain if o in axes and o is not axes[-1]]
    row = next((o for o in reversed(sums) if _goes_along(o, axes[-1], needed, forms)), None)
    if row is not None:
        sums = [*(o for o in sums if o is not row), row]
    return Interchange(op, (*outer, axes[-1]), tuple(sums), row)


def _goes_along(row: Op, axis: Op, needed: set[Op], forms: Forms) -> bool:
    """Whether ``needed`` loads elements that are side by side along ``row``, or that do not depend on it, and computes
    little that does not depend on ``axis``, which would be computed for each of its iterations."""
    counter, found = forms.symbol(row.regions[0].args[0]), False
    if row.opdef is not ops.parallel or constant_of(row.operands[2]) != 1:
        return False
    for op in needed:
        if op.opdef is ops.load:
            memref, *at = op.operands
            *others, last = [forms.of(v).split(counter)[0] for v in at]
            if any(step != Form.ZERO for step in others) or last not in (Form.ZERO, Form.number(1)):
                return False
            if last == Form.number(1):
                found = True
                if not isinstance(memref.type, MemRefType) or memref.type.strides is not None:
                    return False
    apart = [op for op in needed if axis not in enclosing(op.parent)]
    return found and sum(map(cost_once, apart)) < TWICE


def is_over_windows(fission: Fission, op: Op) -> bool:
    """Whether the terms of each element are summed along rows of an array that is loaded in windows, so that the nest
    has many more iterations than there are elements."""
    change = recognise_interchange(fission, op)
    if change is None or change.row is None:
        return False
    forms = fission.analysis.forms
    axes, sums = ({forms.symbol(o.regions[0].args[0]) for o in loops} for loops in (change.axes, change.sums))
    loads = [o for o in fission.slice(op.operands[:1]) if o.opdef is ops.load]
    moved = [{*forms.of(v).symbols()} for o in loads for v in o.operands[1:]]
    return any(found & axes and found & sums for found in moved)


def computes_twice(fission: Fission, group: Sequence[Op]) -> bool:
    """Whether each iteration, after the interchange, computes much that both ``group`` and the rest of the nest need.
    Only where the subscripts follow just the innermost loop: then the row that is added to stays in a cache, and SIMD
    can compute its terms and the rest at once."""
    for op in group:
        change = recognise_interchange(fission, op)
        if change is None or len(change.axes) > 1 or op.parent is not change.axes[0].regions[0]:
            return False
    own, block = set(group), group[0].parent
    others = [op for op in fission.loop.regions[0].walk() if op not in own and _has_effect(op)]
    needed, left = (fission.slice(v for op in some for v in op.operands) for some in (group, others))
    return sum(cost_once(op) for op in needed & left if op.parent is block) >= TWICE


def _has_effect(op: Op) -> bool:
    """Whether an operation does more than to compute values for others in the nest."""
    return not op.regions and op.opdef not in PURE and op.opdef is not ops.load


def cost_once(op: Op) -> float:
    """The cost of one execution, without the loops around it, which may be needed as well."""
    return trips(op) * sum(map(cost_of_block, op.regions)) if op.regions else cost_of(op.opdef)


def build_interchanged(fission: Fission, change: Interchange, before: Block, *, threads: bool) -> None:
    """Append the reordered nest; what it needs is computed at the end of ``before``."""
    builder = _Builder(fission, change, before, threads)
    runs: Value | None = None
    for loop in change.sums:
        lower, upper = (builder.outside(v) for v in loop.operands[:2])
        runs = both(runs, ops.cmpi(lower, upper, predicate="slt"))
    assert runs is not None

    def nest() -> None:
        builder.level(0, {})

    choose(runs, nest, lambda: None)


class _Builder:
    def __init__(self, fission: Fission, change: Interchange, before: Block, threads: bool) -> None:
        self.fission = fission
        self.before = before
        self.emitter = Emitter(fission.analysis.forms)
        self.change = change
        self.threads = threads
        self.needed = fission.slice(change.op.operands)
        chain = list(enclosing(change.op.parent))
        self.chain = chain[: chain.index(fission.loop) + 1][::-1]
        # Outside in: the axes but the last, the sums, the last axis, a row. With one axis: it, then the sums.
        outer, last = change.axes[:-1], change.axes[-1:]
        rows = 0 if change.row is None else 1
        sums, row = change.sums[: len(change.sums) - rows], change.sums[len(change.sums) - rows :]
        self.order = (*outer, *sums, *last, *row) if outer else (*last, *sums, *row)

    def outside(self, value: Value) -> Value:
        """A value that does not change in the nest, computed before it."""
        with insert_at(self.before):
            return self.emitter.value(self.fission.analysis.forms.of(value))

    def level(self, number: int, mapping: Mapping, so_far: Value | None = None) -> Value | None:
        """The loop at ``number`` in the new order. Sums over the innermost loops are carried and returned."""
        if number == len(self.order):
            return self._term(mapping, so_far)
        loop = self.order[number]
        bounds = [self.outside(v) for v in loop.operands[:3]]
        summed = loop is self.change.row or (len(self.change.axes) == 1 and loop in self.change.sums)
        if summed and so_far is None:
            base = self.change.op.operands[1].type
            assert isinstance(base, MemRefType)
            total = self._carrying(number, loop, bounds, mapping, const(0.0, base.element))
            at = self._evaluated(mapping, self.change.op.operands[1:])
            build(ops.accumulate, [total, *at])
            return None
        if summed:
            assert so_far is not None
            return self._carrying(number, loop, bounds, mapping, so_far)
        is_axis = loop in self.change.axes
        block = Block([index], [loop.regions[0].args[0].hint])
        inner = {**mapping, loop.regions[0].args[0]: block.args[0]}
        with insert_at(block):
            self.level(number + 1, inner)
            build(ops.reduce if is_axis else ops.yield_, ())
        attrs = {"threads": True} if is_axis and number == 0 and self.threads else {}
        build(ops.parallel if is_axis else ops.for_, bounds, attrs, [], [block])
        return None

    def _carrying(self, number: int, loop: Op, bounds: list[Value], mapping: Mapping, start: Value) -> Value:
        if loop is self.change.row:
            return self._row(loop, bounds, mapping, start)
        block = Block([index, start.type], [loop.regions[0].args[0].hint])
        inner = {**mapping, loop.regions[0].args[0]: block.args[0]}
        with insert_at(block):
            total = self.level(number + 1, inner, block.args[1])
            assert total is not None
            build(ops.yield_, [total])
        return build(ops.for_, [*bounds, start], {}, [start.type], [block]).result

    def _row(self, loop: Op, bounds: list[Value], mapping: Mapping, start: Value) -> Value:
        """``start`` and the sum over the innermost loop, in any order."""
        block = Block([index], [loop.regions[0].args[0].hint])
        inner = {**mapping, loop.regions[0].args[0]: block.args[0]}
        with insert_at(block):
            build(ops.reduce, self._evaluated(inner, self.change.op.operands[:1]), {"kinds": ("add",)})
        return build(ops.parallel, [*bounds, start], {}, [start.type], [block]).result

    def _term(self, mapping: Mapping, so_far: Value | None) -> Value | None:
        op = self.change.op
        if so_far is not None:
            (value,) = self._evaluated(mapping, op.operands[:1])
            return ops.addf(so_far, value, fastmath=ops.OWNED)
        build(ops.accumulate, self._evaluated(mapping, op.operands))
        return None

    def _evaluated(self, mapping: Mapping, values: tuple[Value, ...]) -> list[Value]:
        mapping = dict(mapping)
        needed = self.fission.slice(values)
        for loop in self.chain:
            self.fission.copy_ops(loop.regions[0], needed, mapping)
        return [mapping.get(v, v) for v in values]
