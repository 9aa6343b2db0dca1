"""Turning arrays that a loop replaces in its steps into buffers that stay in place.

``u = g(u)`` makes a new array in each step; so may a function that is called, or ``u, v = step(u, v)``. To be run by a
schedule, the steps need one place for what they carry: the array is copied to a buffer before the loop, and what a step
hands on is copied there at its end. That makes no difference as long as nobody can tell which array it is: what is
written to, in the loop or later, must be the loop's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.nesting import holds, inside
from adc.ir.rewrite import used_from_outside
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import WRITES
from adc.passes.building import copy
from adc.passes.rewrite import put_before

MOST_BUFFERS = 6

RESIZED = "a list in it grows, or a step changes the shape of an array, or makes it where there was none before"
SHARED = "it writes to an array that something else may hold, and makes it another one; begin with a copy of it"
RESHAPED = (
    "a step makes an extent of {} one of {}: where a loop is checkpointed its arrays keep their shapes; "
    "leave out checkpoint= or memory="
)


@dataclass(frozen=True)
class Carried:
    """What a loop carries: initial values, the values in its body, what a step hands on, and the results.

    For a loop of unknown length, values that the condition does not hand on unchanged are left out.
    """

    inits: Sequence[Value]
    args: Mapping[int, Value]
    yields: Sequence[Value]
    results: Mapping[int, Value]

    @staticmethod
    def by(loop: Op) -> Carried:
        body = loop.regions[-1]
        if loop.opdef is ops.for_:
            args, results = dict(enumerate(body.args[1:])), dict(enumerate(loop.results))
            return Carried(loop.operands[3:], args, body.terminator.operands, results)
        before = loop.regions[0]
        passed = before.terminator.operands[1:]
        places = {k: passed.index(v) for k, v in enumerate(before.args) if v in passed}
        args = {k: body.args[n] for k, n in places.items()}
        return Carried(
            loop.operands, args, body.terminator.operands, {k: loop.results[n] for k, n in places.items()}
        )


def replaced(loop: Op) -> list[int]:
    """Positions of the carried arrays that a step replaces by others. Buffers of a counted loop that are swapped do
    not count, unless it takes many steps until they are back in place."""
    carried = Carried.by(loop)
    arrays = [k for k in carried.args if isinstance(carried.inits[k].type, MemRefType)]
    others = [k for k in arrays if carried.yields[k] is not carried.args[k]]
    places = places_after(loop) if loop.opdef is ops.for_ else {}
    return [k for k in others if k not in places or period(places) > MOST_BUFFERS]


def places_after(loop: Op) -> dict[int, int]:
    """For a counted loop, the position of a carried array after a step, for arrays that stay in place or are swapped
    with each other."""
    carried = Carried.by(loop)
    place = {arg: k for k, arg in carried.args.items() if isinstance(arg.type, MemRefType)}
    after = {k: place[v] for k, v in enumerate(carried.yields) if v in place}
    while True:
        taken = list(after.values())
        kept = {k: n for k, n in after.items() if n == k or (n in after and taken.count(n) == 1)}
        if len(kept) == len(after):
            return kept
        after = kept


def period(after: Mapping[int, int]) -> int:
    """After how many steps all buffers are back in place; at most one more than ``MOST_BUFFERS``."""
    place, count = dict(after), 1
    while count <= MOST_BUFFERS and any(k != n for k, n in place.items()):
        place, count = {k: after[n] for k, n in place.items()}, count + 1
    return count


def is_resized(loop: Op, positions: Sequence[int], memory: Memory) -> bool:
    """Whether the arrays at ``positions`` cannot all keep the extents that they have before the loop.

    This is so if one of them is empty, like one without a value before the first step, or if a step computes a new
    extent from the present one, as for a list that grows.
    """
    carried, forms = Carried.by(loop), Forms()
    for k in positions:
        place, handed = carried.args[k], carried.yields[k]
        for d in range(_type(place).rank):
            if _is_zero(forms.extent(carried.inits[k], d)) and not _is_zero(forms.extent(handed, d)):
                return True
        for d, extent in _given_extents(handed, memory):
            computed = [v for v in _alternatives(extent) if v.op is None or v.op.opdef is not ops.dim]
            kept = forms.extent(place, d)
            if any((forms.of(v) - kept).terms and _follows(v, place, loop, memory) for v in computed):
                return True
    return False


def _is_zero(form: Form) -> bool:
    return not form.terms


def _given_extents(array: Value, memory: Memory) -> Iterator[tuple[int, Value]]:
    """The dimensions of an array with the integers that are their extents, where the array is made or, for a view of
    another one, where the view is: a row of a matrix has an extent of its own."""
    ways = [(array, tuple(range(_type(array).rank)))]
    for made, dims in ways:
        op = made.op
        if op is not None and op.opdef is ops.alloc:
            unknown = [d for d, known in zip(dims, _type(made).shape, strict=True) if known is None]
            yield from zip(unknown, op.operands, strict=True)
        elif op is not None and op.opdef is ops.subview:
            rank = (len(op.operands) - 1) // 3
            sizes = op.operands[1 + rank : 1 + 2 * rank]
            yield from zip(dims, (v for d, v in enumerate(sizes) if d not in op.attrs["dropped"]), strict=True)
        elif op is not None and op.opdef in (ops.reshape, ops.reinterpret_cast):
            first = 1 if op.opdef is ops.reshape else 2
            yield from zip(dims, op.operands[first : first + len(dims)], strict=True)
        else:
            if op is not None and op.opdef is ops.transpose:
                order = op.attrs["permutation"]
                found = [(op.operands[0], tuple(dims[order.index(d)] for d in range(len(dims))))]
            elif op is not None and op.opdef is ops.cast:
                found = [(op.operands[0], dims)]
            else:
                found = [(source, dims) for source in memory.alias.sources(made)]
            ways += [way for way in dict.fromkeys(found) if way not in ways]


def _alternatives(number: Value) -> Iterator[Value]:
    """The integers among which one is chosen, such as extents of operands that may be broadcast."""
    op = number.op
    if op is not None and op.opdef in (ops.select, ops.maxsi, ops.minsi):
        for v in op.operands[1:] if op.opdef is ops.select else op.operands:
            yield from _alternatives(v)
    else:
        yield number


def _follows(number: Value, place: Value, loop: Op, memory: Memory) -> bool:
    """Whether an integer is computed from an extent of ``place``. An array from before the loop has the same extents in
    all steps, although ``place`` may begin as a view of it."""
    op = number.op
    if op is None or op.regions:
        return False
    if op.opdef is ops.dim:
        (array,) = op.operands
        return inside(array, loop) and memory.may_overlap(array, place)
    return any(_follows(v, place, loop, memory) for v in op.operands if not _is_array(v))


def are_shared(loop: Op, positions: Sequence[int], memory: Memory) -> bool:
    """Whether anybody can tell that the arrays at ``positions`` are the same ones all the time."""
    of = Carried.by(loop)
    results = [of.results[k] for k in positions]
    later = list(_later(loop))
    within = list(_written(loop.regions[-1].walk(), memory))
    outside = list(_written((inner for op in later for inner in (op, *_nested(op))), memory))
    # What a step does not look at may have any contents before it.
    looked_at = [of.args[k] for k in positions if loop.opdef is not ops.for_ or _is_accessed(of.args[k], loop)]
    if not _meet(within, looked_at, memory) and not _meet(outside, results, memory):
        return False
    handed = [of.yields[k] for k in positions]
    given = [of.inits[k] for k in positions]
    used = [v for v in used_inside(loop) if _is_accessed(v, loop)]
    seen = [v for v in used_from_outside(later) if _is_accessed(v, loop)]
    others = [source for v in seen for source in _sources(v, loop) if source not in results]
    return (
        any(_meet([v], group[:k], memory) for group in (handed, given) for k, v in enumerate(group))
        or _meet(handed, used, memory)
        or _meet(given, [*used, *others], memory)
        or not all(_is_made_here(root, loop, memory) for v in given for root in memory.roots(v))
    )


def into_buffers(func: Func, loop: Op, positions: Sequence[int], summaries: Summaries) -> None:
    """Replace the arrays at ``positions`` by buffers that stay in place."""
    memory = Memory.asked(func, summaries)
    carried = Carried.by(loop)
    first = len(loop.operands) - len(carried.inits)
    sizes: dict[int, list[Value]] = {}
    before = Block()
    with insert_at(before, loop.loc):
        for k in positions:
            given = carried.inits[k]
            sizes[k] = [ops.dim(given, dim=d) for d in range(_type(given).rank)]
            loop.set_operand(first + k, _copied(given, _type(carried.args[k]), sizes[k]))
    put_before(loop, before.ops)
    end = loop.regions[-1].terminator
    places = {k: carried.args[k] for k in positions}
    for k, place in places.items():
        end.set_operand(k, place)
    extents = Extents()
    steps = Block()
    with insert_at(steps, loop.loc):
        made = {}
        for k, place in places.items():
            value = carried.yields[k]
            shapes = zip(extents.shape(value), extents.shape(place), strict=True)
            for d in [d for d, (new, old) in enumerate(shapes) if new != old]:
                both = sizes[k][d], ops.dim(value, dim=d)
                same = ops.cmpi(*both, predicate="eq")
                build(ops.assert_, [same, *both], {"error": "ShapeError", "message": RESHAPED})
            overlaps = any(memory.may_overlap(value, other) for other in places.values())
            made[k] = _copied(value, _type(place), sizes[k]) if overlaps else value
        for k, place in places.items():
            copy(made[k], place, extents=sizes[k])
    put_before(end, steps.ops)


def _copied(array: Value, t: MemRefType, extents: Sequence[Value]) -> Value:
    dynamic = [size for size, known in zip(extents, t.shape, strict=True) if known is None]
    made = ops.alloc(*dynamic, type=MemRefType(t.shape, t.element))
    made.hint = array.hint
    copy(array, made, extents=extents)
    return made if made.type == t else ops.cast(made, type=t)


def _type(array: Value) -> MemRefType:
    assert isinstance(array.type, MemRefType)
    return array.type


def used_inside(loop: Op) -> list[Value]:
    """The values from outside that the body of a loop uses."""
    used = used_from_outside([op for region in loop.regions for op in region.ops])
    return [v for v in used if v.owner not in loop.regions]


def _is_array(value: Value) -> bool:
    return isinstance(value.type, MemRefType)


def _is_accessed(value: Value, loop: Op) -> bool:
    """Whether a value is an array of which something other than ``loop`` itself uses more than the extents."""
    return _is_array(value) and any(op is not loop and op.opdef is not ops.dim for op, _ in value.uses)


def _sources(array: Value, loop: Op) -> list[Value]:
    """What an array is a view of, on all sides of the branches that decide it, given that ``loop`` has run."""
    op = (array := strip_views(array)).op
    if op is None or op.opdef is not ops.if_:
        return [array]
    sides = [region for region in op.regions if holds(region, loop)] or op.regions
    return [found for side in sides for found in _sources(side.terminator.operands[array.index], loop)]


def _meet(some: Sequence[Value], others: Sequence[Value], memory: Memory) -> bool:
    return any(memory.may_overlap(v, other) for v in some for other in others)


def _nested(op: Op) -> Iterator[Op]:
    for region in op.regions:
        yield from region.walk()


def _written(found: Iterator[Op], memory: Memory) -> Iterator[Value]:
    """The arrays that operations may write to."""
    for op in found:
        if not op.regions and (op.opdef is ops.call or op.opdef in WRITES):
            yield from (v for v in op.operands if _is_array(v) and memory.may_write(op, v))


def _later(loop: Op) -> Iterator[Op]:
    """The operations that may run after a loop, or after it has been run once."""
    op, block = loop, loop.parent
    while block is not None:
        around = block.parent_op
        again = around is not None and around.opdef is not ops.if_
        yield from (other for other in block.ops[0 if again else block.ops.index(op) :] if other is not op)
        if around is None:
            return
        op, block = around, around.parent


def _is_made_here(root: Value, loop: Op, memory: Memory) -> bool:
    """Whether ``root`` is an allocation of this function that is made for each run of ``loop``."""
    if root.op is None or root.op.opdef is not ops.alloc or memory.alias.is_held(root):
        return False
    block = loop.parent
    while block is not None and block is not root.op.parent:
        around = block.parent_op
        if around is None or around.opdef is not ops.if_:
            return False
        block = around.parent
    return block is not None
