"""Where best to make snapshots that share their room with tapes: functions of the IR, which are called at run time.

A node of the schedule is a number of steps, with the state before them at hand and ``depth`` snapshots below. Either
its steps are reversed at once, with a tape in the room that is left (a leaf): that is possible for as many steps as
``Room.leaf`` says. Or a snapshot is made and some steps are run; what follows is a node with one snapshot more, and
then the first steps are a node with as many as before. No tape of single steps needs to be kept below a snapshot, as in
the schedule *Mixed* of Maddison. This follows by exchanging the two: a snapshot first, then the tape, is never worse.
So with equal sizes of state and tape both schedules take equally many steps.

A table of the fewest steps C(n, depth) to reverse n would need all n. Instead a step gets a price, and the question is
how many steps are worth reversing at that price: the profit V is the maximum of price x n - C(n, depth). It is that of
a leaf, or of both parts of a node, where each of the first steps costs one more:

    V(price, depth) = max((price - 1) leaf(depth), V(price - 1, depth) + V(price, depth + 1))

This needs no n (it is the Legendre transform of C), and takes depths x repetitions operations. Bisection finds the
lowest price at which n steps are worth it. At that price the numbers of steps of both parts are known to lie between a
least and a greatest one, and so where to make the snapshot. Only one part in the whole tree is then not full. The
result is the fewest steps where C has such a corner, and for equal sizes always.

Reference: Maddison, Step-based checkpointing with high-level algorithmic differentiation, J. Comput. Sci. 82, 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, index
from adc.passes.checkpointing.conventions import PLANS

UNIT = 1024
"""Prices are counted in fractions of a step."""

MOST_REPETITIONS = 64
"""If steps would have to be run more often, there is no such schedule."""

HIGHEST = MOST_REPETITIONS * UNIT

DEEPEST = 256
"""The most snapshots of such a schedule: the time to work out their places grows with it."""

_MANY = 1 << 40
_RICH = 1 << 56
_NAME = "adc.prices"
_ROOM = ("deepest", "room", "state", "tape")


@dataclass(frozen=True)
class Room:
    """The bytes for snapshots and tape together, of a snapshot, and of the tape of a step; and the most snapshots."""

    deepest: Value
    room: Value
    state: Value
    tape: Value

    def values(self) -> list[Value]:
        return [self.deepest, self.room, self.state, self.tape]

    def leaf(self, depth: Value) -> Value:
        """Append the number of steps whose tapes there is room for, beside ``depth`` snapshots."""
        return ops.divsi(ops.maxsi(self.room - ops.muli(depth, self.state), const_index(0)), self.tape)


def split_steps(module: Module, steps: Value, depth: Value, high: Value, room: Room) -> Sequence[Value]:
    """Append, for more steps than a leaf has: after how many of them the next snapshot is made; and the price, which is
    at most ``high``. What follows is worth at most that price, and the first steps one step less."""
    return _call(module, _split, steps, depth, high, *room.values())


def repeated_steps(module: Module, steps: Value, room: Room) -> tuple[Value, Value]:
    """Append the number of steps that are run again, besides once each with a tape, and the largest number of snapshots
    at a time. The first is ``_MANY`` if there is no such schedule."""
    again, deepest = _call(module, _repeated, steps, *room.values())
    return again, deepest


def repeated_function(module: Module) -> str:
    """The name of the function that computes the same."""
    return _function(module, _repeated).name


# Functions ------------------------------------------------------------------------------------------------------------

_Made = Callable[[Module, Sequence[Value]], Sequence[Value]]


def _call(module: Module, make: _Made, *operands: Value) -> Sequence[Value]:
    func = _function(module, make)
    return build(ops.call, operands, {"callee": func.name, "types": func.result_types}).results


def _function(module: Module, make: _Made) -> Func:
    hints, results = _SIGNATURES[make]
    name = f"{_NAME}{make.__name__}"
    if name not in module.funcs:
        func = module.add(Func(name, [index] * (len(hints) + 4), [index] * results, [*hints, *_ROOM]))
        func.attrs.update({"adc.noinline": True, PLANS: True})
        with insert_at(func.body):
            build(ops.return_, make(module, func.args))
    return module.funcs[name]


def _reach(module: Module, args: Sequence[Value]) -> Sequence[Value]:
    """How many steps are worth reversing at a price, and the profit."""
    price, depth, *rest = args
    room = Room(*rest)
    zero, one, unit = const_index(0), const_index(1), const_index(UNIT)
    counts, profits = (ops.alloc(type=MemRefType((MOST_REPETITIONS + 2,), index)) for _ in range(2))
    last = ops.divsi(price - one, unit)

    def clear(k: Value) -> None:
        build(ops.store, [zero, counts, k])
        build(ops.store, [zero, profits, k])

    _for(ops.addi(last, const_index(2)), clear)

    def level(n: Value) -> None:
        # From the most snapshots to the fewest, in place: entries that are there are for one snapshot more.
        capacity = ops.minsi(room.leaf(room.deepest - n), const_index(_MANY))

        def repetitions(k: Value) -> None:
            at = last - k
            more = ops.addi(at, one)
            alone = ops.maxsi(ops.muli(price - ops.muli(more, unit), capacity), zero)
            both = ops.minsi(ops.addi(ops.load(profits, more), ops.load(profits, at)), const_index(_RICH))
            parts = ops.minsi(ops.addi(ops.load(counts, more), ops.load(counts, at)), const_index(_MANY))
            leaf = ops.select(ops.cmpi(zero, alone, predicate="slt"), capacity, zero)
            apart = ops.cmpi(alone, both, predicate="slt")
            build(ops.store, [ops.select(apart, parts, leaf), counts, at])
            build(ops.store, [ops.select(apart, both, alone), profits, at])

        _for(ops.addi(last, one), repetitions)

    _for(ops.addi(room.deepest - depth, one), level)
    found = ops.load(counts, zero), ops.load(profits, zero)
    for memory in (counts, profits):
        build(ops.dealloc, [memory])
    return found


def _price(module: Module, args: Sequence[Value]) -> Sequence[Value]:
    """The lowest price at which so many steps are worth reversing; it is at most ``high``."""
    steps, depth, most, *room = args

    def enough(price: Value) -> Value:
        return ops.cmpi(steps, _call(module, _reach, price, depth, *room)[0], predicate="sle")

    head, body = Block([index, index]), Block([index, index])
    with insert_at(head):
        low, high = head.args
        build(ops.condition, [ops.cmpi(const_index(1), high - low, predicate="slt"), low, high])
    with insert_at(body):
        low, high = body.args
        middle = ops.divsi(ops.addi(low, high), const_index(2))
        below = enough(middle)
        build(ops.yield_, [ops.select(below, low, middle), ops.select(below, middle, high)])
    # The parts of a node often have the node's own price.
    less = most - const_index(1)
    start = [ops.select(enough(less), const_index(UNIT), less), most]
    return build(ops.while_, start, None, [index, index], [head, body]).results[1:]


def _split(module: Module, args: Sequence[Value]) -> Sequence[Value]:
    """See ``split_steps``; and the price, which is at most ``high``."""
    steps, depth, high, *rest = args
    room = Room(*rest)
    one = const_index(1)
    deeper = ops.addi(depth, one)
    (price,) = _call(module, _price, steps, depth, high, *rest)
    below, _ = _call(module, _reach, price - one, depth, *rest)
    least, _ = _call(module, _reach, price - const_index(1 + UNIT), depth, *rest)
    most, _ = _call(module, _reach, price, deeper, *rest)
    leaf = room.leaf(depth)
    # What follows is full, or else the first steps are as few as at a lower price. If there is no snapshot at a lower
    # price, what follows is a leaf, or the first steps are one.
    alone = ops.minsi(steps - room.leaf(deeper), leaf)
    fewest = ops.select(ops.cmpi(leaf, below, predicate="slt"), least, alone)
    first = ops.maxsi(ops.maxsi(fewest, steps - most), one)
    return [ops.minsi(first, ops.maxsi(steps - one, one)), price]


def _advances(module: Module, args: Sequence[Value]) -> Sequence[Value]:
    """The number of all steps that are run, with a tape and without, if those of the first leaf are run once. One part
    of each node is as full as it is worth at some price, and the cost of that part follows from the profit."""
    steps, *rest = args
    room = Room(*rest)
    zero, one, unit = const_index(0), const_index(1), const_index(UNIT)
    head, body = Block([index] * 4), Block([index] * 4)
    with insert_at(head):
        left, depth, *_ = head.args
        build(ops.condition, [ops.cmpi(room.leaf(depth), left, predicate="slt"), *head.args])
    with insert_at(body):
        left, depth, high, total = body.args
        deeper = ops.addi(depth, one)
        first, price = _call(module, _split, left, depth, high, *rest)
        following = left - first
        lower = price - const_index(1 + UNIT)
        fewest, low = _call(module, _reach, lower, depth, *rest)
        most, profit = _call(module, _reach, price, deeper, *rest)

        def taken(price: Value, count: Value, profit: Value) -> Value:
            return ops.divsi(ops.muli(price, count) - profit, unit)

        full = ops.cmpi(following, most, predicate="eq")
        short = ops.cmpi(following, room.leaf(deeper), predicate="sle")
        first_is_left = ops.ori(full, short)
        of_following = ops.select(full, taken(price, most, profit), following)
        whole = ops.cmpi(first, fewest, predicate="eq")
        of_first = ops.select(whole, taken(lower, fewest, low), first)
        done = ops.select(first_is_left, of_following, of_first)
        next_node = (
            ops.select(first_is_left, first, following),
            ops.select(first_is_left, depth, deeper),
            ops.select(first_is_left, price - unit, price),
        )
        build(ops.yield_, [*next_node, ops.addi(ops.addi(total, first), done)])
    start = [steps, zero, const_index(HIGHEST), zero]
    left, _, _, total = build(ops.while_, start, None, [index] * 4, [head, body]).results
    return [ops.addi(total, left)]


def _repeated(module: Module, args: Sequence[Value]) -> Sequence[Value]:
    """See ``repeated_steps``."""
    steps, *rest = args
    room = Room(*rest)
    zero, most = const_index(0), const_index(_MANY)
    reached, _ = _call(module, _reach, const_index(HIGHEST), zero, *rest)
    there, none = Block(), Block()
    with insert_at(there):
        (advances,) = _call(module, _advances, *args)
        # The forward sweep runs the steps of the first leaf, too.
        again = ops.addi(advances, _first_leaf(module, steps, room)) - ops.muli(steps, const_index(2))
        build(ops.yield_, [again, _depth(module, steps, room)])
    with insert_at(none):
        build(ops.yield_, [most, zero])
    enough = ops.andi(ops.cmpi(steps, reached, predicate="sle"), ops.cmpi(zero, steps, predicate="slt"))
    return build(ops.if_, [enough], {}, [index, index], [there, none]).results


def _first_leaf(module: Module, steps: Value, room: Room) -> Value:
    """Append the number of steps of the leaf that is reversed first."""
    head, body = Block([index] * 3), Block([index] * 3)
    with insert_at(head):
        left, depth, high = head.args
        build(ops.condition, [ops.cmpi(room.leaf(depth), left, predicate="slt"), left, depth, high])
    with insert_at(body):
        left, depth, high = body.args
        first, price = _call(module, _split, left, depth, high, *room.values())
        build(ops.yield_, [left - first, ops.addi(depth, const_index(1)), price])
    start = [steps, const_index(0), const_index(HIGHEST)]
    return build(ops.while_, start, None, [index] * 3, [head, body]).results[0]


def _depth(module: Module, steps: Value, room: Room) -> Value:
    """Append the largest number of snapshots at a time: as many as nodes have parts at the price of all steps."""
    (price,) = _call(module, _price, steps, const_index(0), const_index(HIGHEST), *room.values())
    head, body = Block([index]), Block([index])
    with insert_at(head):
        (depth,) = head.args
        reached, _ = _call(module, _reach, price, depth, *room.values())
        build(ops.condition, [ops.cmpi(room.leaf(depth), reached, predicate="slt"), depth])
    with insert_at(body):
        build(ops.yield_, [ops.addi(body.args[0], const_index(1))])
    return build(ops.while_, [const_index(0)], None, [index], [head, body]).result


_SIGNATURES: dict[_Made, tuple[tuple[str, ...], int]] = {
    _reach: (("price", "depth"), 2),
    _price: (("steps", "depth", "high"), 1),
    _split: (("steps", "depth", "high"), 2),
    _advances: (("steps",), 1),
    _repeated: (("steps",), 2),
}


def _for(count: Value, body: Callable[[Value], None]) -> None:
    block = Block([index])
    with insert_at(block):
        body(block.args[0])
        build(ops.yield_, ())
    build(ops.for_, [const_index(0), count, const_index(1)], {}, [], [block])
