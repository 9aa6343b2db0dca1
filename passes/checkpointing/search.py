"""The search for schedules that keep to a number of bytes, as functions of the IR.

Among the schedules that fit, and repeat no more steps than pieces of one step would in the same room, the search finds
the one with the fewest repeated steps, where a piece counts as one more; among these, the one that takes the least
memory. Snapshots with blocks of their own may share their room with the tapes (see ``prices``): then it is tested for
each number of snapshots, with the longest tape beside them, whether they fit. This is not done if there are loops of
unknown length: they may be inside others, whose tapes grow with what they keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import index
from adc.passes.checkpointing.prices import DEEPEST, Room, repeated_steps
from adc.passes.checkpointing.schedule import FRUGAL, WIDTH, repeated_function

MOST_SNAPSHOTS = 1 << 16
"""For a loop of unknown length, whose snapshots get their room before it begins."""


class Search:
    """Appends the search for schedules, one loop after the other."""

    def __init__(self, module: Module, footprint: Func, sizes: Sequence[Value]) -> None:
        self.module = module
        self._footprint = footprint
        self._sizes = sizes
        self._repeated = repeated_function(module)

    def measured(self, chosen: Sequence[Value]) -> Sequence[Value]:
        """The peak; the number of steps of each loop; and for each loop the bytes of a snapshot with a block of its
        own."""
        attrs = {"callee": self._footprint.name, "types": self._footprint.result_types}
        return build(ops.call, [*self._sizes, *chosen], attrs).results

    def _peak(self, k: int, chosen: Sequence[Value], snapshots: Value, length: Value) -> Value:
        """The peak with another schedule of loop ``k``."""
        return self.measured(_with(chosen, k, [snapshots, length, *_not_shared()]))[0]

    def open_loop(self, k: int, chosen: Sequence[Value], _: Value, allowed: Value) -> list[Value]:
        """The same for a loop of unknown length: as many snapshots as there is room for."""
        one = const_index(1)

        def fits(snapshots: Value) -> Value:
            return ops.cmpi(self._peak(k, chosen, snapshots, one), allowed, predicate="sle")

        return _with(chosen, k, [_most(const_index(MOST_SNAPSHOTS), fits), one, *_not_shared()])

    def loop(self, k: int, chosen: Sequence[Value], steps: Value, allowed: Value) -> list[Value]:
        """The schedules, with that of loop ``k`` chosen."""
        one = const_index(1)

        def peak(snapshots: Value, length: Value) -> Value:
            return self._peak(k, chosen, snapshots, length)

        def fitting(length: Value) -> tuple[Value, Value, Value, Value]:
            # Pieces of equal length: as many steps as the longest has.
            pieces = ops.ceildivsi(steps, length)
            length = ops.ceildivsi(steps, pieces)
            snapshots = _most(pieces, lambda n: ops.cmpi(peak(n, length), allowed, predicate="sle"))
            again = ops.muli(self.repeated(pieces, snapshots), length)
            return pieces, length, snapshots, again

        # No more repeated steps than with snapshots alone, in the same room.
        *_, most = fitting(one)

        def attempt(length: Value, best: Sequence[Value]) -> Sequence[Value]:
            pieces, length, snapshots, again = fitting(length)
            # The state before a piece is restored from a snapshot, which had been copied there: about a step's work if
            # steps are bound by memory. A few copies less are not worth a longer tape.
            cost = ops.addi(again, ops.maxsi(pieces, ops.divsi(steps, const_index(32))))
            taken = peak(snapshots, length)
            fewer = ops.cmpi(cost, best[2], predicate="slt")
            smaller = ops.andi(ops.cmpi(cost, best[2], predicate="eq"), ops.cmpi(taken, best[3], predicate="slt"))
            fits = ops.andi(ops.cmpi(taken, allowed, predicate="sle"), ops.cmpi(again, most, predicate="sle"))
            better = ops.andi(fits, ops.ori(fewer, smaller))
            found = (snapshots, length, cost, taken)
            return [ops.select(better, new, old) for new, old in zip(found, best, strict=True)]

        # Lengths grow by an eighth; the last one is all steps.
        head, body = Block([index] * 5), Block([index] * 5)
        with insert_at(head):
            build(ops.condition, [ops.cmpi(head.args[0], steps, predicate="sle"), *head.args])
        with insert_at(body):
            length, *best = body.args
            found = attempt(length, best)
            longer = ops.addi(length, ops.ceildivsi(length, const_index(8)))
            last = ops.andi(ops.cmpi(length, steps, predicate="slt"), ops.cmpi(steps, longer, predicate="slt"))
            build(ops.yield_, [ops.select(last, steps, longer), *found])
        worst = const_index((1 << 63) - 1)
        start = [one, one, one, worst, worst]
        results = build(ops.while_, start, None, [index] * 5, [head, body]).results
        return _with(chosen, k, [results[1], results[2], *_not_shared()])

    # Room that snapshots share with tapes -----------------------------------------------------------------------------

    def shared(self, k: int, chosen: Sequence[Value], steps: Value, allowed: Value, *, more: bool) -> list[Value]:
        """The schedules, with that of loop ``k`` the best so far, or one by which snapshots and tapes share their room,
        if that repeats fewer steps, or as many in less memory. ``more``: other loops follow."""
        two = const_index(2)
        loops = len(chosen) // WIDTH
        blocks = self.measured(_with(chosen, k, [two, const_index(1), *_not_shared()]))[1 + loops + k]
        given, other = Block(), Block()
        own = chosen[WIDTH * k : WIDTH * (k + 1)]
        with insert_at(given):
            build(ops.yield_, list(own))
        with insert_at(other):
            build(ops.yield_, _Sharing(self, k, chosen, steps, blocks).better(allowed, more=more))
        possible = ops.andi(ops.cmpi(const_index(0), blocks, predicate="slt"), ops.cmpi(two, steps, predicate="slt"))
        return _with(chosen, k, build(ops.if_, [possible], {}, [index] * WIDTH, [other, given]).results)

    def repeated(self, pieces: Value, snapshots: Value) -> Value:
        """The number of pieces that Revolve runs again."""
        return build(ops.call, [pieces, snapshots], {"callee": self._repeated, "types": (index,)}).result


@dataclass(frozen=True)
class _Sharing:
    """Appends the search for the room that snapshots of ``state`` bytes and tapes of one loop share."""

    search: Search
    k: int
    chosen: Sequence[Value]
    steps: Value
    state: Value

    def better(self, allowed: Value, *, more: bool) -> Sequence[Value]:
        """The shared schedule if it is better, else the one chosen before."""
        zero, steps = const_index(0), self.steps
        so_far = self.chosen[WIDTH * self.k : WIDTH * (self.k + 1)]
        snapshots, length, *_ = so_far
        pieces = ops.ceildivsi(steps, length)
        again_so_far = ops.muli(self.search.repeated(pieces, snapshots), length)
        room, fits = self._room(allowed, more=more)
        # If each step is repeated only once, less room is enough.
        smaller = replace(room, room=_least_room(room, steps))
        module = self.search.module
        less, fewer_snapshots = repeated_steps(module, steps, smaller)
        once = ops.cmpi(less, zero, predicate="eq")
        same, other = Block(), Block()
        with insert_at(same):
            build(ops.yield_, [less, fewer_snapshots, smaller.room])
        with insert_at(other):
            build(ops.yield_, [*repeated_steps(module, steps, room), room.room])
        again, depth, bytes_ = build(ops.if_, [once], {}, [index] * 3, [same, other]).results
        room = replace(room, room=bytes_, deepest=depth)
        taken = self._taken(room)
        fewer = ops.cmpi(again, again_so_far, predicate="slt")
        # As many, and in less memory: unless that takes more copies, as above.
        copies = ops.maxsi(pieces, ops.divsi(steps, const_index(32)))
        as_few = ops.andi(ops.cmpi(again, again_so_far, predicate="eq"), ops.cmpi(depth, copies, predicate="slt"))
        as_few = ops.andi(as_few, ops.cmpi(taken, self.search.measured(self.chosen)[0], predicate="slt"))
        better = ops.andi(fits, ops.ori(fewer, as_few))
        found = [room.deepest, self._stand_in(room, taken), room.room, room.state, room.tape]
        return [ops.select(better, new, old) for new, old in zip(found, so_far, strict=True)]

    def _peak(self, snapshots: Value, length: Value) -> Value:
        """The peak with so many snapshots beside the tape of so many steps."""
        one = const_index(1)
        return self.search.measured(_with(self.chosen, self.k, [snapshots, length, one, const_index(0), one]))[0]

    def _room(self, allowed: Value, *, more: bool) -> tuple[Room, Value]:
        """Append the room that there is, and whether there is any."""
        one, zero, steps, state = const_index(1), const_index(0), self.steps, self.state
        most = ops.minsi(steps, const_index(DEEPEST))
        deepest = _most(most, lambda n: ops.cmpi(self._peak(n, one), allowed, predicate="sle"))
        # If tapes are long, the peak is that of a leaf. The stand-in for leaves, beside those of other loops, must grow
        # with its tape no less than they do.
        long = self._peak(deepest, steps)
        tape = ops.maxsi(ops.ceildivsi(self._peak(deepest, ops.muli(steps, const_index(2))) - long, steps), one)
        base = long - ops.muli(steps, tape)
        if more:
            allowed = allowed - tape  # the stand-in for leaves takes more than they do
        room = Room(deepest, ops.addi(allowed - base, ops.muli(deepest, state)), state, tape)
        # The measured bytes do not grow linearly, as each array has whole cache lines.
        head, body = Block([index] * 3), Block([index] * 3)
        with insert_at(head):
            excess, bytes_, tries = head.args
            again = ops.andi(ops.cmpi(zero, excess, predicate="slt"), ops.cmpi(zero, tries, predicate="slt"))
            build(ops.condition, [again, excess, bytes_, tries])
        with insert_at(body):
            excess, bytes_, tries = body.args
            bytes_ = bytes_ - excess
            excess = self._taken(replace(room, room=bytes_)) - allowed
            build(ops.yield_, [excess, bytes_, tries - one])
        start = [self._taken(room) - allowed, room.room, const_index(8)]
        excess, bytes_, _ = build(ops.while_, start, None, [index] * 3, [head, body]).results
        fits = ops.andi(ops.cmpi(excess, zero, predicate="sle"), ops.cmpi(zero, bytes_, predicate="slt"))
        return replace(room, room=ops.maxsi(bytes_, one)), fits

    def _taken(self, room: Room) -> Value:
        """Append the peak if each leaf is as long as there is room for: what is not in use then is freed."""
        body = Block([index, index])
        with insert_at(body):
            depth, most = body.args
            peak = self._peak(room.deepest, ops.minsi(room.leaf(depth), self.steps))
            build(ops.yield_, [ops.maxsi(most, peak - ops.muli(room.deepest - depth, room.state))])
        # Before and after leaves, all snapshots may exist.
        least = self._peak(room.deepest, const_index(0))
        bounds = [const_index(0), ops.addi(room.deepest, const_index(1)), const_index(1)]
        return build(ops.for_, [*bounds, least], {}, [index], [body]).result

    def _stand_in(self, room: Room, taken: Value) -> Value:
        """Append the length of a piece that takes, beside all snapshots, no less than any leaf does beside the
        snapshots that it has."""

        def below(length: Value) -> Value:
            return ops.cmpi(self._peak(room.deepest, length), taken, predicate="slt")

        one = const_index(1)
        longest = ops.select(below(one), ops.addi(_most(self.steps, below), one), one)
        beside = ops.maxsi(room.room - ops.muli(room.deepest, room.state), const_index(0))
        return ops.minsi(ops.maxsi(longest, ops.ceildivsi(beside, room.tape)), self.steps)


def _with(chosen: Sequence[Value], k: int, schedule: Sequence[Value]) -> list[Value]:
    """The schedules with another one for loop ``k``."""
    return [*chosen[: WIDTH * k], *schedule, *chosen[WIDTH * (k + 1) :]]


def _not_shared() -> list[Value]:
    return [const_index(n) for n in FRUGAL[2:]]


def _least_room(room: Room, steps: Value) -> Value:
    """Append the least room in which the leaves that follow one another have all steps together, or zero."""

    def enough(less: Value) -> Value:
        smaller = replace(room, room=room.room - less)
        body = Block([index, index])
        with insert_at(body):
            depth, total = body.args
            build(ops.yield_, [ops.addi(total, ops.minsi(smaller.leaf(depth), steps))])
        bounds = [const_index(0), ops.addi(room.deepest, const_index(1)), const_index(1), const_index(0)]
        total = build(ops.for_, bounds, {}, [index], [body]).result
        return ops.cmpi(steps, total, predicate="sle")

    less = _most(ops.maxsi(room.room - const_index(1), const_index(1)), enough)
    return ops.select(enough(less), room.room - less, const_index(0))


def _most(upper: Value, fits: Callable[[Value], Value]) -> Value:
    """Append a bisection: the largest number from 1 to ``upper`` that fits, if 1 does."""
    head, body = Block([index, index]), Block([index, index])
    with insert_at(head):
        build(ops.condition, [ops.cmpi(*head.args, predicate="slt"), *head.args])
    with insert_at(body):
        low, high = body.args
        # Not half of the sum: with numbers of bytes that may overflow 64 bits.
        middle = ops.addi(low, ops.ceildivsi(high - low, const_index(2)))
        enough = fits(middle)
        build(ops.yield_, [ops.select(enough, middle, low), ops.select(enough, high, middle - const_index(1))])
    return build(ops.while_, [const_index(1), upper], None, [index, index], [head, body]).results[0]
