"""Functions of steps whose snapshots may share their room with tapes: in memory, for a single reverse sweep.

The schedule is a tree. A node is a range of pieces, with the state before them in the arrays and a number of snapshots
below. A leaf has so few pieces that both sweeps are run at once. At any other node the state is copied and the first
pieces are run; the rest is a node with one snapshot more. When that is reversed, the first pieces are a node again,
from the snapshot. When a leaf begins, its own snapshot is no longer needed, and all blocks that are not in use are
freed, so that the tape has their room.

A schedule says how long a leaf is and how many pieces are run first: binomial, where a leaf is a piece, or ``prices``,
where pieces are steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, index
from adc.passes.building import choose, copy
from adc.passes.checkpointing.conventions import CHECKPOINT
from adc.passes.checkpointing.prices import HIGHEST, UNIT, Room, split_steps
from adc.passes.checkpointing.schedule import WIDTH
from adc.passes.differentiation.calls.blocks import Blocks
from adc.passes.differentiation.calls.checkpointed import Steps
from adc.passes.differentiation.calls.pieces import Pieces, copied, like, root
from adc.passes.differentiation.calls.split_plans import SplitKey


def may_share(primal: Func, key: SplitKey) -> bool:
    """Whether a function of steps is of this kind."""
    _, _, _, once = key
    _, _, _, _, _, advance, disk, _ = primal.attrs[CHECKPOINT]
    return once and not advance and not disk


@dataclass(frozen=True)
class _Pieces(Pieces):
    """``most``: the most steps of a piece, or of a leaf; ``room``: what is shared, where ``shares`` says so."""

    most: Value
    room: Room
    shares: Value | None

    @property
    def longest(self) -> Value:
        return self.most

    def values(self) -> list[Value]:
        """The values that go into a record."""
        return [self.steps, self.count, self.slots, self.most, *self.room.values()[1:]]

    @staticmethod
    def of(values: Sequence[Value], *, asked: bool) -> _Pieces:
        steps, count, slots, most, *rest = values
        room = Room(slots, *rest)
        return _Pieces(steps, count, slots, most, room, _shares(room) if asked else None)


def _shares(room: Room) -> Value:
    return ops.cmpi(const_index(0), room.room, predicate="slt")


_VALUES = 7
_Pair = Callable[[], Sequence[Value]]


class SharedRoom(Steps):
    """See ``Steps``."""

    # The schedule -----------------------------------------------------------------------------------------------------

    def _leaf(self, pieces: _Pieces, depth: Value) -> Value:
        one = const_index(1)
        return one if pieces.shares is None else ops.select(pieces.shares, pieces.room.leaf(depth), one)

    def _is_leaf(self, pieces: _Pieces, count: Value, depth: Value) -> Value:
        return ops.cmpi(count, self._leaf(pieces, depth), predicate="sle")

    def _first(self, pieces: _Pieces, count: Value, depth: Value, high: Value) -> tuple[Value, Value]:
        """Append the number of pieces to run before the next snapshot, for a node with more pieces than a leaf; and an
        upper limit for the price of what follows. ``high``: this limit for the node."""

        def binomial() -> Sequence[Value]:
            return self._split(count, ops.subi(pieces.slots, depth)), high

        if pieces.shares is None:
            first, price = binomial()
        else:
            first, price = _either(
                pieces.shares, lambda: split_steps(self.module, count, depth, high, pieces.room), binomial
            )
        return first, price

    @staticmethod
    def _note(places: Value, number: Value, place: Value, price: Value) -> None:
        """Append a note of where a snapshot is, and of the price of the node that begins there."""
        build(ops.store, [ops.addi(ops.muli(place, const_index(2 * HIGHEST)), price), places, number])

    @staticmethod
    def _noted(places: Value, number: Value) -> tuple[Value, Value]:
        note, unit = ops.load(places, number), const_index(2 * HIGHEST)
        return ops.divsi(note, unit), ops.remsi(note, unit)

    def _planned(self, steps: Value) -> _Pieces:
        zero, one = const_index(0), const_index(1)
        snapshots: Value | None = const_index(self.snapshots) if self.snapshots else None
        length = const_index(self.piece) if self.piece else root(steps)
        room = [zero, zero, one]
        if self.asked:
            attrs = {"callee": self.asked, "types": (index,) * WIDTH}
            snapshots, length, *room = build(ops.call, [], attrs).results
        count = ops.ceildivsi(steps, length)
        slots = ops.maxsi(count, one)
        slots = slots if snapshots is None else ops.minsi(slots, snapshots)
        most = ops.ceildivsi(steps, ops.maxsi(count, one))
        if not self.asked:
            return _Pieces(steps, count, slots, most, Room(slots, *room), None)
        assert snapshots is not None
        shares = ops.cmpi(zero, room[0], predicate="slt")
        count, slots, most = (ops.select(shares, a, b) for a, b in ((steps, count), (snapshots, slots), (length, most)))
        return _Pieces(steps, count, slots, most, Room(slots, *room), shares)

    # Forward ----------------------------------------------------------------------------------------------------------

    def _forward(self, given: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        pieces = self._planned(given[1])
        carried: Sequence[Value] = [given[k] for k in self.carried]
        state = [given[k] for k in self.state]
        blocks = Blocks.made(state, carried, pieces.slots, self.asked)
        places = ops.alloc(ops.addi(pieces.slots, const_index(2)), type=MemRefType((None,), index))
        copies = [copied(given[k]) for k in self.copied]
        buffers = [like(array) for array in state]
        node = const_index(0), const_index(0), blocks.count(), const_index(HIGHEST)
        place, depth, _, carried = self._descend(pieces, blocks, places, node, pieces.count, given, carried)
        # The state before the first leaf stays in the buffers with which the reverse sweep begins.
        for array, buffer in zip(state, buffers, strict=True):
            copy(array, buffer)
        blocks.save_numbers(pieces.slots, carried)
        build(ops.store, [depth, places, pieces.slots])
        build(ops.store, [place, places, ops.addi(pieces.slots, const_index(1))])
        carried = self._advance(pieces, place, pieces.count, given, carried)
        return carried, [*pieces.values(), places, *blocks.values(), *buffers, *copies]

    def _descend(
        self,
        pieces: _Pieces,
        blocks: Blocks,
        places: Value,
        node: Sequence[Value],
        end: Value,
        args: Sequence[Value],
        carried: Sequence[Value],
    ) -> tuple[Value, Value, Value, Sequence[Value]]:
        """Append the descent from a node, whose pieces end at ``end``, to its first leaf. Returns where the leaf
        begins, the snapshots below it, how many blocks there are, and what is carried. ``node``: the same for the node,
        and the limit for its price; its state is in the arguments."""
        state = [args[k] for k in self.state]
        types = [index] * 4 + [v.type for v in carried]
        head, body = Block(types), Block(types)
        with insert_at(head):
            place, depth, *_ = head.args
            further = ops.cmpi(self._leaf(pieces, depth), ops.subi(end, place), predicate="slt")
            build(ops.condition, [further, *head.args])
        with insert_at(body):
            place, depth, there, high, *values = body.args
            deeper = ops.addi(depth, const_index(1))
            if pieces.shares is not None:
                lacks = ops.andi(pieces.shares, ops.cmpi(there, depth, predicate="sle"))
                choose(lacks, lambda: blocks.take(depth, state), lambda: None)
                there = ops.select(lacks, deeper, there)
            first, price = self._first(pieces, ops.subi(end, place), depth, high)
            self._note(places, depth, place, price)
            blocks.save(depth, state, values)
            following = ops.addi(place, first)
            values = list(self._advance(pieces, place, following, args, values))
            build(ops.yield_, [following, deeper, there, price, *values])
        found = build(ops.while_, [*node, *carried], None, types, [head, body]).results
        return found[0], found[1], found[2], found[4:]

    # Reverse ----------------------------------------------------------------------------------------------------------

    def _backward(
        self, taken: Sequence[Value], given: dict[int, Value], shadows: dict[int, Value], totals: dict[int, Value]
    ) -> dict[int, Value]:
        pieces = _Pieces.of(taken[:_VALUES], asked=bool(self.asked))
        places, *others = taken[_VALUES:]
        rest = iter(others)
        blocks = Blocks.of(rest, len(self.state), len(self.carried))
        memory = list(rest)
        self._give_copies(given, iter(memory))

        def leaf(node: Sequence[Value], end: Value, carried: Sequence[Value], so_far: Sequence[Value]) -> list[Value]:
            """Append the reversal of a leaf, in the room of all snapshots that are not below it. Returns how many
            blocks are left, and the cotangents before the leaf."""
            place, depth, there = node
            if pieces.shares is not None:
                left = ops.select(pieces.shares, ops.minsi(there, depth), there)
                blocks.lend(left, there)
                there = left
            before = dict(zip(totals, so_far, strict=True))
            found = self._reverse_piece(pieces, place, end, self._args(given), carried, shadows, before)
            return [there, *(found[k] for k in totals)]

        depth = ops.load(places, pieces.slots)
        place = ops.load(places, ops.addi(pieces.slots, const_index(1)))
        node: Sequence[Value] = (place, depth, blocks.count())
        start = [place, depth, *leaf(node, pieces.count, blocks.carried(pieces.slots), list(totals.values()))]
        types = [index] * 3 + [v.type for v in totals.values()]
        head, body = Block(types, ["end", "depth", "there"]), Block(types, ["end", "depth", "there"])
        with insert_at(head):
            build(ops.condition, [ops.cmpi(const_index(0), head.args[1], predicate="slt"), *head.args])
        with insert_at(body):
            end, depth, there, *values = body.args
            node, carried = self._next_node(pieces, blocks, places, given, end, depth, there)
            *node, carried = self._descend(pieces, blocks, places, node, end, self._args(given), carried)
            build(ops.yield_, [*node[:2], *leaf(node, end, carried, values)])
        found = list(build(ops.while_, start, None, types, [head, body]).results)
        blocks.free(found[2])
        for array in (places, *memory):
            build(ops.dealloc, [array])
        return dict(zip(totals, found[3:], strict=True))

    def _next_node(
        self,
        pieces: _Pieces,
        blocks: Blocks,
        places: Value,
        given: dict[int, Value],
        end: Value,
        depth: Value,
        there: Value,
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        """Append the way from the last snapshot to the next node of the pieces up to ``end``: the snapshot's own node,
        if it is a leaf, or what follows its first pieces. Returns the node, and what is carried there."""
        below = ops.subi(depth, const_index(1))
        place, price = self._noted(places, below)
        carried = blocks.restore(below, [given[k] for k in self.state])
        count = ops.subi(end, place)
        is_leaf = self._is_leaf(pieces, count, below)
        high = ops.maxsi(price - const_index(UNIT), const_index(2 * UNIT))
        zero = const_index(0)
        first, price = _either(is_leaf, lambda: (zero, zero), lambda: self._first(pieces, count, below, high))
        self._note(places, below, place, price)
        following = ops.addi(place, first)
        carried = self._advance(pieces, place, following, self._args(given), carried)
        return (following, ops.select(is_leaf, below, depth), there, price), carried


def _either(condition: Value, then: _Pair, otherwise: _Pair) -> tuple[Value, Value]:
    """Append a branch that gives two numbers."""
    blocks = []
    for part in (then, otherwise):
        block = Block()
        with insert_at(block):
            build(ops.yield_, part())
        blocks.append(block)
    first, second = build(ops.if_, [condition], {}, [index, index], blocks).results
    return first, second
