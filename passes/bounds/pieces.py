"""Arrays that are put together from pieces: boxes of elements that are copies, or thin and cheap to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.nesting import inside, place_in, with_inner
from adc.ir.types import FloatType
from adc.passes.analysis.costs import cost_of
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, LOOPS
from adc.passes.analysis.linear import Linear
from adc.passes.memory.forward_elements import CHEAP_ONCE, made_in

MOST_PIECES = 8


@dataclass(frozen=True)
class Range:
    """Along one dimension, elements from ``lower`` to before ``upper``; ``counter`` plus ``offset`` is the subscript.
    None: one element, at ``offset``."""

    offset: Linear
    counter: Value | None
    lower: Linear
    upper: Linear


@dataclass(frozen=True)
class Piece:
    """``place``: the operation in the block of the pieces that stores them, where all of ``conditions`` are as they
    say. ``made``: what computes an element, ``value``. Of a piece without ``box``, all elements are written."""

    place: Op
    value: Value
    made: list[Op] = field(default_factory=list)
    box: tuple[Range, ...] | None = None
    conditions: tuple[tuple[Value, bool], ...] = ()

    @property
    def is_thin(self) -> bool:
        return self.box is not None and any(r.counter is None for r in self.box)

    @property
    def cost(self) -> float:
        """What an element costs that is not a copy."""
        every = [o for op in self.made for o in with_inner(op)]
        return 0.0 if all(map(_copies, every)) else sum(cost_of(o.opdef) for o in every)

    @property
    def sources(self) -> list[Value]:
        return [o.operands[0] for op in self.made for o in with_inner(op) if o.opdef is ops.load]


@dataclass(frozen=True)
class Array:
    """The pieces in order, and reads of them: the first ones that later pieces are made from, if there are any, else
    all. ``order``: the numbers of the operations in the ``block`` in which it is put together. ``carried``: whether it
    outlives an iteration of the loop of that block."""

    alloc: Op
    block: Block
    order: dict[Op, int]
    carried: bool
    pieces: list[Piece]
    loads: list[Op]


def put_together(alloc: Op) -> Array | None:
    """The pieces of an array and what reads them, if it has no other uses."""
    users = [op for user, _ in alloc.result.uses for op in _through(user)]
    loads = [op for op in users if op.opdef is ops.load]
    writers = [op for op in users if op.opdef in (ops.store, ops.fill) and strip_views(op.operands[1]) is alloc.result]
    dims = sum(op.opdef is ops.dim for op in users)
    if not all(load.result.type.is_float or load.result.type.is_integer for load in loads):
        return None
    if not loads or not 2 <= len(writers) <= MOST_PIECES or len(users) != dims + len(loads) + len(writers):
        return None
    home = alloc.parent
    assert home is not None
    fills = [op for op in writers if op.opdef is ops.fill and op.operands[1] is alloc.result and op.parent is home]
    rest = [op for op in writers if op not in fills]
    block, around = _block_of(home, [*rest, *loads])
    if len(fills) > 1 or (fills and around is not None and home.ops.index(fills[0]) > home.ops.index(around[-1])):
        return None
    pieces = []
    for op in writers:
        place = op if op in fills and block is not home else place_in(block, op)
        piece = None if place is None else _piece(alloc, op, place)
        if piece is None or (around is not None and not _is_fixed(piece, around)):
            return None
        pieces.append(piece)
    order = {op: number for number, op in enumerate(block.ops)}
    pieces.sort(key=lambda piece: order.get(piece.place, -1))
    all_thin = all(piece.is_thin for piece in pieces)  # columns that are stacked, and not an array with a margin
    if any(piece.cost > (CHEAP_ONCE if piece.is_thin and not all_thin else 0) for piece in pieces):
        return None
    if len({p.place for p in pieces}) < len(pieces):
        return None
    places = [place_in(block, load) for load in loads]
    if None in places:
        return None
    last = order.get(pieces[-1].place, -1)
    first = min(order[place] for place in places if place is not None)
    early = [load for load, place in zip(loads, places, strict=True) if place is not None and order[place] == first]
    if first > last:
        early = loads
    return Array(alloc, block, order, around is not None, pieces, early)


def _through(user: Op) -> list[Op]:
    """A use of an array; in place of a part of it all of whose elements are filled, what fills it."""
    if user.opdef is ops.subview and set(user.attrs["static_steps"]) == {1}:
        fills = [op for op, _ in user.result.uses]
        if all(op.opdef is ops.fill for op in fills):
            return fills
    return [user]


def _block_of(home: Block, users: Sequence[Op]) -> tuple[Block, list[Op] | None]:
    """The innermost loop's block that has all users, and the loops between it and ``home``, innermost first; or
    ``home`` itself, if several of its operations have users."""
    block = home
    around: list[Op] = []
    while True:
        places = {place_in(block, op) for op in users}
        (loop,) = places if len(places) == 1 else (None,)
        if loop is None or loop.opdef is not ops.for_ or users[0].parent is block:
            return block, around[::-1] or None
        block = loop.regions[0]
        around.append(loop)


def _is_fixed(piece: Piece, around: Sequence[Op]) -> bool:
    """Whether a piece is the same box, under the same conditions, in all iterations of the loops around it."""
    forms = [form for r in piece.box or () for form in (r.offset, r.lower, r.upper)]
    values = [v for form in forms for v in form.terms] + [v for v, _ in piece.conditions]
    return not any(inside(v, around[-1]) for v in values)


def _piece(alloc: Op, op: Op, place: Op) -> Piece | None:
    """The piece that ``op`` stores or fills."""
    integers = Integers()
    if op.opdef is ops.fill:
        return _filled(alloc, op, integers) if op is place else None
    counters: dict[Value, Op] = {}
    conditions = []
    block = op.parent
    inner = op
    while inner is not place:
        assert block is not None and block.parent_op is not None
        inner = block.parent_op
        if inner.opdef in COUNTED and constant_of(inner.operands[2]) == 1:
            counters[block.args[0]] = inner
        elif inner.opdef is ops.if_ and not inside(inner.operands[0], place):
            conditions.append((inner.operands[0], block is inner.regions[0]))
        else:
            return None
        block = inner.parent
    ranges: list[Range] = []
    for subscript in op.operands[2:]:
        form = integers.linear(subscript, exact=True)
        own = [v for v in form.terms if inside(v, place)]
        if not own:
            ranges.append(Range(form, None, form, form.plus_number(1)))
            continue
        loop = counters.pop(own[0], None)
        if len(own) != 1 or loop is None or form.terms[own[0]] != 1 or any(inside(v, place) for v in loop.operands[:2]):
            return None
        offset = form.without(own[0])
        ends = (integers.linear(v, exact=True).plus(offset) for v in loop.operands[:2])
        ranges.append(Range(offset, own[0], *ends))
    value = op.operands[0]
    made = made_in(value, place)
    if counters or made is None or any(o.opdef in LOOPS for o in made):
        return None
    return Piece(place, value, made, tuple(ranges), tuple(conditions))


def _filled(alloc: Op, fill: Op, integers: Integers) -> Piece:
    """The piece that is filled, all of the array or a part of it."""
    part = fill.operands[1].op
    assert part is not None
    if part is alloc:
        return Piece(fill, fill.operands[0])
    rank = len(part.attrs["static_steps"])
    starts, sizes = (
        [integers.linear(v, exact=True) for v in part.operands[1 + k * rank : 1 + (k + 1) * rank]] for k in (0, 1)
    )
    box = tuple(Range(s, None, s, s.plus(n)) for s, n in zip(starts, sizes, strict=True))
    return Piece(fill, fill.operands[0], [], box)


def _copies(op: Op) -> bool:
    """Whether an operation only moves elements, or computes where they are."""
    if op.opdef in (ops.load, ops.if_, ops.yield_, ops.select):
        return True
    return not any(isinstance(r.type, FloatType) for r in op.results)
