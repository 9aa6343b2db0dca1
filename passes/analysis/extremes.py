"""The least and the greatest elements of integer arrays that are used as subscripts.

What is loaded from ``idx`` lies between its extremes, so ``0 <= min(idx)`` and ``max(idx) < n`` before a loop nest make
all its accesses ``x[idx[i]]`` safe: an inspector (Saltz, Mirchandaney, Crowley, IEEE Trans. Comput. 40, 1991).
Subscripts that are known before the nest are kept: for ``pairs[i, 1]`` only that column is searched. The search runs
each time that the nest is reached, unless arrays are much longer than the nest has iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping
from adc.ir.types import MemRefType, Type, index
from adc.passes.analysis.counting import Counting
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.guards import Guard, load_of
from adc.passes.analysis.kinds import COUNTED, LOOPS
from adc.passes.building import parallel_extreme

PER_ITERATION, AT_LEAST = 16, 4096
"""Elements that may be searched for each iteration of the nest, and in any case."""

MOST_TRIPS, MOST_ITERATIONS = 2**20, 2**38  # that are counted, so that products do not wrap around

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_Key = tuple[Value, tuple[Value | None, ...], bool, tuple[Guard, ...]]


def limits_of(value: Value, extremes: Extremes | None, *, least: bool) -> tuple[Value, ...]:
    """Values of which one is not greater than ``value`` (``least``), or not less; none if none are found.

    For loaded values ``extremes`` knows such a value. The result of a parallel loop may be an extreme: of its start and
    of the terms of all iterations. What a loop carries may be a running extreme of loaded values.
    """
    bound = extremes.loaded(value, least=least) if extremes is not None else None
    if bound is not None:
        return (bound,)
    op, wanted = value.op, "min" if least else "max"
    if op is not None and op.opdef is ops.parallel:
        reduce = op.regions[0].terminator
        found = op.operands[3 + value.index], reduce.operands[value.index]
        return found if reduce.attrs["kinds"][value.index] == wanted else ()
    block = value.owner
    loop = op if op is not None else block.parent_op if isinstance(block, Block) and value.index else None
    if loop is None or loop.opdef is not ops.for_:
        return ()
    k = value.index - (op is None)
    argument, following = loop.regions[0].args[1 + k], loop.regions[0].terminator.operands[k].op
    if following is None or following.opdef not in _RUNNING or argument not in following.operands:
        return ()
    start = loop.operands[3 + k]
    if _RUNNING[following.opdef] != wanted:
        return (start,)
    other = next((v for v in following.operands if v is not argument), None)
    bound = extremes.loaded(other, least=least) if extremes is not None and other is not None else None
    return () if bound is None else (start, bound)


_RUNNING = {ops.minsi: "min", ops.maxsi: "max"}


class Origins:
    """The values and operations of a function that copies stand for: facts about memory are known of these."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._values: Mapping = {}
        self._ops: dict[Op, Op] = {}

    def copied(self, values: Mapping, operations: dict[Op, Op]) -> None:
        """Note copies; what was copied may be a copy itself."""
        self._values.update((new, self._values.get(old, old)) for old, new in values.items())
        self._ops.update((new, self._ops.get(old, old)) for old, new in operations.items())

    def may_write(self, loop: Op, memref: Value) -> bool:
        """Whether ``loop`` may write to ``memref``."""
        return self.memory.may_write(self._ops.get(loop, loop), self._values.get(memref, memref))


class Extremes:
    """The extremes of arrays that ``loop`` loads integers from; ``pending``: the code that finds them, to go before
    it. ``guards``: what holds of loaded integers where they are asked about; other elements are left out."""

    def __init__(self, loop: Op, origins: Origins) -> None:
        self.loop = loop
        self.origins = origins
        self.pending = Block()
        self.guards: tuple[Guard, ...] = ()
        self._found: dict[_Key, Value] = {}
        self._counted: dict[tuple[object, bool], Value | None] = {}
        self._most: Value | None = None  # the number of elements that may be searched

    def counted(
        self, key: object, values: Sequence[Value], point: Block, body: Callable[[Mapping], Value], *, least: bool
    ) -> Value | None:
        """The extreme of what ``body`` builds from ``values`` at the end of ``point``, if it follows from counted
        integers. It is found once for each ``key``."""
        if (key, least) not in self._counted:
            counting = Counting(self.loop, values, point)
            self._counted[key, least] = None
            if counting.found:
                with insert_at(self.pending, self.loop.loc):
                    self._counted[key, least] = counting.extreme(body, least=least)
        return self._counted[key, least]

    def of(self, value: Value, *, least: bool) -> Value | None:
        """A bound of ``value`` in all iterations, if the value is loaded or counted."""
        loaded = self.loaded(value, least=least)
        if loaded is not None or value.type != index or not inside(value, self.loop) or value.block is None:
            return loaded
        return self.counted(value, [value], value.block, lambda mapping: mapping[value], least=least)

    def loaded(self, value: Value, *, least: bool) -> Value | None:
        """A bound of ``value`` in all iterations, if it is loaded from memory that the iterations do not change."""
        op = load_of(value)
        if op is None or self.loop.opdef is ops.while_:
            return None
        memref, *subscripts = op.operands
        t = op.result.type
        if inside(memref, self.loop) or isinstance(t, MemRefType) or not t.is_integer:
            return None
        if self.origins.may_write(self.loop, memref):
            return None
        fixed = tuple(map(self._fixed, subscripts))
        if None not in fixed:
            return None
        guards = tuple(guard for guard in self.guards if guard.concerns(op))
        key = (memref, fixed, least, guards)
        found = self._found.get(key)
        if found is None:
            with insert_at(self.pending, self.loop.loc):
                found = self._found[key] = self._search(memref, fixed, value.type, guards, least=least)
        return found

    def _fixed(self, subscript: Value) -> Value | None:
        """A subscript that is the same in all iterations, as a value known before them."""
        if not inside(subscript, self.loop):
            return subscript
        op = subscript.op
        if op is not None and op.opdef is ops.bound and (constant_of(op.operands[0]) or 0) >= 0:
            return self._fixed(op.operands[0])
        return None

    def _iterations(self, loop: Op) -> Value:
        """The number of iterations of the innermost loops in ``loop``, as far as it is known before; others count
        once."""
        inner: Value | None = None
        for op in loop.regions[0].walk():
            if op.opdef in COUNTED and next(outer for outer in enclosing(op.parent) if outer.opdef in LOOPS) is loop:
                found = self._iterations(op)
                inner = found if inner is None else ops.maxsi(inner, found)
        trips = None
        if not any(inside(v, self.loop) for v in loop.operands[:3]):
            trips = ops.minsi(trip_count(*loop.operands[:3]), const_index(MOST_TRIPS))
        if trips is None or inner is None:
            return trips or inner or const_index(1)
        return ops.minsi(ops.muli(trips, inner), const_index(MOST_ITERATIONS))

    def _search(
        self, memref: Value, fixed: Sequence[Value | None], t: Type, guards: Sequence[Guard], *, least: bool
    ) -> Value:
        zero = const_index(0)
        extents = [ops.dim(memref, dim=d) for d in range(len(fixed))]
        size, there = const_index(1), None
        for v, extent in zip(fixed, extents, strict=True):
            if v is None:
                size = ops.muli(size, extent)
            else:
                inner = ops.andi(ops.cmpi(zero, v, predicate="sle"), ops.cmpi(v, extent, predicate="slt"))
                there = inner if there is None else ops.andi(there, inner)
        if self._most is None:
            most = ops.muli(self._iterations(self.loop), const_index(PER_ITERATION))
            self._most = ops.maxsi(most, const_index(AT_LEAST))
        worth = ops.cmpi(size, self._most, predicate="sle")
        chosen = worth if there is None else ops.andi(worth, there)
        limits = [ops.select(chosen, extent, zero) for extent in extents]
        kind = "min" if least else "max"
        neutral = const(_GREATEST if least else _LEAST, t)

        def level(d: int, at: list[Value]) -> Value:
            if d == len(fixed):
                loaded: Value = ops.load(memref, *at)
                if loaded.type != t:
                    loaded = (ops.index_cast if t == index else ops.extsi)(loaded, type=t)
                for guard in guards:
                    loaded = ops.select(guard.holds(loaded, t), loaded, neutral)
                return loaded
            known = fixed[d]
            if known is not None:
                return level(d + 1, [*at, known])
            return parallel_extreme(
                zero, limits[d], lambda x: level(d + 1, [*at, x]), neutral, kind=kind, counter="subscript"
            )

        # If the search was not worth while, nothing is known.
        return ops.select(worth, level(0, []), const(_LEAST if least else _GREATEST, t))
