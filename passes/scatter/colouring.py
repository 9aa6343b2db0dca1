"""Colouring: blocks of iterations that add to no common element run on threads, one colour of blocks after the other.

An unstructured mesh scatters to the ends of its edges: which elements an iteration adds to is loaded from arrays. If a
time loop does not change these arrays, blocks of iterations are coloured once before it, so that blocks of one colour
have no element in common (the greedy algorithm of OP2: Mudalige, Giles, Reguly, Bertolli, Kelly, InPar 2012). A block
takes the first colour that none of its elements has yet; a mask for each element holds the colours that it has. The
colours follow from the subscripts alone, so sums have the same bits on any number of threads.

Colouring does not pay if the numbering is random, so that all blocks have elements in common, if there are few steps,
or for few elements. That is known only at run time, so the loop exists in another form as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import reduce
from itertools import chain

from adc.ir import ops
from adc.ir.arith import const, const_index, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import TRIPS
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, i1, i64, index
from adc.passes.analysis.affine import Form
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.analysis.kinds import STRUCTURED, TERMINATORS
from adc.passes.building import strip
from adc.passes.distribution.distribute_terms import terms_are_apart, terms_first
from adc.passes.distribution.fission import Fission
from adc.passes.rewrite import put_instead, to_sequential
from adc.passes.scatter.privatisation import shared

SIZE = 128
"""Iterations of a block."""

COLOURS = 63
"""The most colours: a mask has 64 bits."""

STEPS = 3  # of the time loop, at least
BLOCKS = 4  # of each colour, on average at least


@dataclass
class Colouring:
    """The elements of ``bases`` that iterations of ``fission.loop`` add to do not change in the sequential loops
    ``around``, the outermost first. ``needed``: the operations that compute subscripts."""

    fission: Fission
    groups: Sequence[Sequence[Op]]
    bases: Sequence[Value]
    around: list[Op]
    needed: list[Op]

    def given(self) -> Iterator[Value]:
        """The values from outside the loop that subscripts are, or are computed from."""
        terms = (v for group in self.groups for op in group for v in op.operands[2:])
        for v in chain(terms, *(op.operands for op in self.needed)):
            if not inside(v, self.fission.loop):
                yield v


def find_colouring(fission: Fission, groups: Sequence[Sequence[Op]], memory: Memory) -> Colouring | None:
    """How to colour; None if subscripts may change from step to step, or if there is only one step."""
    loop = fission.loop
    bases = [shared(fission.analysis, loop, group) for group in groups]
    if not groups or not loop.attrs.get("threads") or any(base is None for base in bases):
        return None
    terms = [op for group in groups for op in group]
    needed = fission.surroundings(terms, [v for op in terms for v in op.operands[2:]])
    if any(op.regions and op.opdef not in STRUCTURED for op in needed):
        return None
    if any(not (op.opdef.pure or op.opdef in _READ or op.regions) for op in needed):
        return None
    in_order = [op for op in fission.position if op in needed]
    found = Colouring(fission, groups, [base for base in bases if base is not None], [], in_order)
    for outer in enclosing(loop.parent):
        if outer.opdef is not ops.for_ or not _stays(found, outer, memory):
            break
        found.around.insert(0, outer)
    return found if found.around else None


_READ = TERMINATORS | {ops.load, ops.bound}


def _stays(colouring: Colouring, outer: Op, memory: Memory) -> bool:
    """Whether subscripts are the same in all iterations of ``outer``."""
    fission = colouring.fission
    forms = fission.analysis.forms
    for op in colouring.needed:
        if op.opdef is ops.load and (inside(op.operands[0], outer) or memory.may_write(outer, op.operands[0])):
            return False
    if any(inside(v, outer) and not _known(forms.of(v), outer) for v in colouring.given()):
        return False
    limits = [forms.of(v) for loop in (fission.loop, *colouring.around) for v in loop.operands[:3]]
    for base in colouring.bases:
        assert isinstance(base.type, MemRefType)
        limits += [forms.extent(base, d) for d in range(base.type.rank)]
    return all(_known(form, outer) for form in limits)


def _known(form: Form, outer: Op) -> bool:
    return all(not inside(symbol.value, outer) for symbol in form.symbols())


@dataclass(frozen=True)
class Colours:
    """What is found before the time loop: the blocks from ``order[starts[c]]`` to before ``order[starts[c + 1]]`` have
    colour ``c`` of ``count``. ``worth``: whether colours are to be used."""

    order: Value
    starts: Value
    count: Value
    worth: Value


@dataclass
class _Inspector:
    """Appends to ``before`` the code that colours the blocks."""

    colouring: Colouring
    before: Block
    always: bool
    emitter: Emitter = field(init=False)

    def __post_init__(self) -> None:
        self.emitter = Emitter(self.colouring.fission.analysis.forms)

    def _value(self, value: Value) -> Value:
        """An integer that is known before the time loop."""
        with insert_at(self.before):
            return self.emitter.value(self.emitter.forms.of(value))

    def run(self) -> Colours:
        with insert_at(self.before, self.colouring.fission.loop.loc):
            steps = [trip_count(*map(self._value, outer.operands[:3])) for outer in self.colouring.around]
            # Without steps nothing is looked up: subscripts need not be in range then.
            runs = [ops.cmpi(const_index(0), n, predicate="slt") for n in steps]
            runs.append(ops.cmpi(const_index(1 if self.always else STEPS), reduce(ops.muli, steps), predicate="sle"))
            going = reduce(ops.andi, runs)
            bounds = [self._value(v) for v in self.colouring.fission.loop.operands[:3]]
            trips = ops.select(going, trip_count(*bounds), const_index(0))
            blocks = ops.ceildivsi(trips, const_index(SIZE))
            bits = self._colour(blocks, bounds, going)
            return self._sort(bits, blocks, going)

    def _colour(self, blocks: Value, bounds: Sequence[Value], going: Value) -> Value:
        """The colour of each block, as a bit: 0 if all colours are taken."""
        extents = [self._extents(base) for base in self.colouring.bases]
        masks = [self._masks(dims, going) for dims in extents]
        bits = ops.alloc(blocks, type=MemRefType((None,), i64))
        taken = ops.alloc(const_index(1), type=MemRefType((None,), i64))
        first = const_index(0)
        body = Block([index], ["block"])
        with insert_at(body):

            def look(mask: Value, element: Value) -> None:
                both = ops.ori(ops.load(taken, first), ops.load(mask, element))
                build(ops.store, [both, taken, first])

            build(ops.store, [const(0, i64), taken, first])
            self._scan(body.args[0], bounds, masks, extents, look)
            found = ops.load(taken, first)
            bit = ops.andi(ops.xori(found, const(-1, i64)), ops.addi(found, const(1, i64)))
            build(ops.store, [bit, bits, body.args[0]])

            def mark(mask: Value, element: Value) -> None:
                build(ops.store, [ops.ori(ops.load(mask, element), bit), mask, element])

            self._scan(body.args[0], bounds, masks, extents, mark)
            build(ops.yield_, ())
        build(ops.for_, [first, blocks, const_index(1)], {}, [], [body])
        return bits

    def _extents(self, base: Value) -> list[Value]:
        assert isinstance(base.type, MemRefType)
        forms = self.emitter.forms
        with insert_at(self.before):
            return [self.emitter.value(forms.extent(base, d)) for d in range(base.type.rank)]

    def _masks(self, extents: Sequence[Value], going: Value) -> Value:
        """The colours of the blocks that add to each element: none yet."""
        count = ops.select(going, reduce(ops.muli, extents), const_index(0))
        masks = ops.alloc(count, type=MemRefType((None,), i64))
        build(ops.fill, [const(0, i64), masks])
        return masks

    def _scan(
        self,
        block: Value,
        bounds: Sequence[Value],
        masks: Sequence[Value],
        extents: Sequence[Sequence[Value]],
        visit: Callable[[Value, Value], None],
    ) -> None:
        """Append loops over the elements that the iterations of ``block`` add to."""
        fission, colouring = self.colouring.fission, self.colouring
        group_of = {op: k for k, group in enumerate(colouring.groups) for op in group}
        mapping: Mapping = {}
        for v in colouring.given():
            if inside(v, colouring.around[0]):
                mapping[v] = self._value(v)
        limits = _limits(block, bounds)
        copy = fission.copy({*colouring.needed, *group_of}, mapping)
        for k, value in enumerate(limits):
            copy.set_operand(k, value)
        old = [op for op in fission.loop.regions[0].walk() if op in group_of]
        new = [op for op in copy.regions[0].walk() if op.opdef is ops.accumulate]
        for op, place in zip(old, new, strict=True):
            made = Block()
            with insert_at(made, op.loc):
                element, *rest = place.operands[2:]
                for x, extent in zip(rest, extents[group_of[op]][1:], strict=True):
                    element = ops.addi(ops.muli(element, extent), x)
                visit(masks[group_of[op]], element)
            put_instead(place, made.ops)
            place.drop()
        for inner in [op for op in copy.regions[0].walk() if op.opdef is ops.parallel][::-1]:
            put_instead(inner, [to_sequential(inner)])
        put_instead(copy, [to_sequential(copy)])

    def _sort(self, bits: Value, blocks: Value, going: Value) -> Colours:
        """Sort the blocks by colour."""
        order = ops.alloc(ops.addi(blocks, const_index(1)), type=MemRefType((None,), index))
        starts = ops.alloc(const_index(COLOURS + 1), type=MemRefType((None,), index))
        build(ops.store, [const_index(0), starts, const_index(0)])
        colours = Block([index, i64, index, index], ["colour", "bit", "placed", "count"])
        with insert_at(colours):
            colour, bit, placed, count = colours.args
            each = Block([index, index], ["block", "placed"])
            with insert_at(each):
                block, so_far = each.args
                # Blocks of other colours are overwritten.
                build(ops.store, [block, order, so_far])
                same = ops.cmpi(ops.load(bits, block), bit, predicate="eq")
                build(ops.yield_, [ops.addi(so_far, ops.select(same, const_index(1), const_index(0)))])
            inner = build(ops.for_, [const_index(0), blocks, const_index(1), placed], {}, [index], [each])
            following = ops.addi(colour, const_index(1))
            build(ops.store, [inner.result, starts, following])
            used = ops.cmpi(placed, inner.result, predicate="slt")
            total = ops.select(used, following, count)
            build(ops.yield_, [ops.addi(bit, bit), inner.result, total])
        limits = [const_index(0), const_index(COLOURS), const_index(1)]
        carried = [const(1, i64), const_index(0), const_index(0)]
        loop = build(ops.for_, [*limits, *carried], {}, [i64, index, index], [colours])
        _, placed, count = loop.results
        all_placed = ops.cmpi(placed, blocks, predicate="eq")
        few = const(1, i1)
        if not self.always:
            few = ops.cmpi(ops.muli(count, const_index(BLOCKS)), blocks, predicate="sle")
        return Colours(order, starts, count, ops.andi(going, ops.andi(all_placed, few)))


def _limits(block: Value, bounds: Sequence[Value]) -> tuple[Value, Value]:
    """The first counter of a block and the one after its last."""
    lower, upper, step = bounds
    start, length = strip(block, ops.muli(step, const_index(SIZE)), upper, lower)
    return start, ops.addi(start, length)


def build_colouring(colouring: Colouring, before: Block, *, always: bool) -> tuple[Op, Block]:
    """Append a branch, whose results replace the loop's: by colours, or without, in a region that so far has only a
    terminator. ``before`` is put before the time loops. Returns the loop over the blocks of a colour, and that
    region."""
    loop = colouring.fission.loop
    colours = _Inspector(colouring, before, always).run()
    kinds, types = loop.regions[0].terminator.attrs["kinds"], [r.type for r in loop.results]
    then, otherwise = Block(), Block()
    with insert_at(then, loop.loc):
        by_colour = Block([index, *types], ["colour"])
        with insert_at(by_colour):
            number, *carried = by_colour.args
            body = Block([index], ["place"])
            with insert_at(body):
                limits = _limits(ops.load(colours.order, body.args[0]), loop.operands[:3])
                build(ops.reduce, _run_block(colouring, limits), {"kinds": kinds})
            first = ops.load(colours.starts, number)
            last = ops.load(colours.starts, ops.addi(number, const_index(1)))
            over = build(
                ops.parallel, [first, last, const_index(1), *carried], {"threads": True}, types, [body]
            )
            build(ops.yield_, over.results)
        operands = [const_index(0), colours.count, const_index(1), *loop.operands[3:]]
        all_colours = build(ops.for_, operands, {}, types, [by_colour])
        build(ops.yield_, all_colours.results)
    with insert_at(otherwise):
        build(ops.yield_, loop.results)
    branch = build(ops.if_, [colours.worth], {}, types, [then, otherwise])
    for k, (old, new) in enumerate(zip(loop.results, branch.results, strict=True)):
        new.hint = old.hint
        old.replace_uses(new)
        otherwise.terminator.set_operand(k, old)
    return over, otherwise


def _run_block(colouring: Colouring, limits: tuple[Value, Value]) -> Sequence[Value]:
    """Append the iterations between ``limits`` and return what they reduce.

    Terms outside inner loops are computed first, as SIMD, and then added.
    """
    loop = colouring.fission.loop
    kinds, types = loop.regions[0].terminator.attrs["kinds"], [r.type for r in loop.results]
    neutral = [const(ops.NEUTRAL[kind], t) for kind, t in zip(kinds, types, strict=True)]
    terms = dict.fromkeys(op for group in colouring.groups for op in group)
    if terms_are_apart(loop, terms):
        needed = set(colouring.needed)
        return terms_first(loop, terms, limits, neutral, SIZE, needed.__contains__)
    copy = clone_op(loop, {})
    for k, value in enumerate((*limits, loop.operands[2], *neutral)):
        copy.set_operand(k, value)
    copy.drop_attr("threads")
    copy.set_attr(TRIPS, SIZE)
    alone = to_sequential(copy)
    put_instead(copy, [alone])
    return alone.results
