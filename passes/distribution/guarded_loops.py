"""Loops whose iterations do something only where a condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import copysign, isfinite

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import inside, with_enclosing, with_inner
from adc.ir.types import MemRefType
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import COUNTED, SILENT


@dataclass(frozen=True, eq=False)
class Guarded:
    """A loop with a branch, ``guard``; without its side ``taken``, an iteration changes nothing.

    ``before`` is what the loop does before the branch in each iteration, and ``after`` what it does then: in an
    iteration on the other side this adds zeros, to what the loop carries or reduces and to elements, and does the
    stores of ``instead`` with these values, which are made before the loop.
    """

    loop: Op
    guard: Op
    taken: int
    before: Sequence[Op]
    after: Sequence[Op]
    instead: Sequence[tuple[Op, Value]] = ()

    @property
    def condition(self) -> Value:
        return self.guard.operands[0]

    @cached_property
    def needed(self) -> list[Op]:
        """The operations that the condition is made from, in order."""
        return self._made_of([self.condition])

    @cached_property
    def always(self) -> list[Op]:
        """The stores before the branch, and what they, the condition and the subscripts of other stores are made from,
        in order."""
        subscripts = [v for op, _ in self.instead for v in op.operands[2:]]
        return self._made_of([self.condition, *subscripts], self._stores)

    @cached_property
    def _stores(self) -> list[Op]:
        return [op for op in self.before if op.opdef is ops.store]

    def _made_of(self, values: Sequence[Value], stores: Sequence[Op] = ()) -> list[Op]:
        wanted, found = set(values), []
        for op in reversed(self.before):
            if op in stores or not wanted.isdisjoint(op.results):
                found.append(op)
                wanted.update(op.operands)
        return found[::-1]

    @property
    def only_carries(self) -> bool:
        """Whether the loop is done in order, and changes no element."""
        return self.loop.opdef is ops.for_ and not any(
            op.opdef not in SILENT and op.opdef is not ops.load and not op.regions
            for op in self.loop.regions[0].walk()
        )

    def is_legal(self, memory: Memory) -> bool:
        """Whether the condition of an iteration reads nothing that others write, which those of a parallel loop do not
        anyway; and whether, in these, what is read before the branch is not what is stored there."""
        if memory.effects(self.guard).traps:
            return False  # what the condition of a later iteration reads may rely on that
        if self.loop.opdef is ops.parallel:
            return not self._stores_before_reading(memory)
        arrays = [op.operands[0] for op in self.needed if op.opdef is ops.load]
        return not any(memory.may_write(op, array) for op in (self.guard, *self.after) for array in arrays)

    def _stores_before_reading(self, memory: Memory) -> bool:
        for op in self.before:
            if op.opdef is ops.load and any(memory.may_write(store, op.operands[0]) for store in self._stores):
                return True
        others = (*self.before, self.guard, *self.after)
        return any(memory.may_read(op, store.operands[1]) for store, _ in self.instead for op in others)


def find_guarded(loop: Op) -> Guarded | None:
    """``loop`` as an innermost loop of which a branch decides whether an iteration does anything."""
    if loop.opdef not in COUNTED:
        return None
    (body,) = loop.regions
    branches = [op for op in body.ops if op.regions]
    if len(branches) != 1 or branches[0].opdef is not ops.if_:
        return None
    (guard,) = branches
    at = body.ops.index(guard)
    before, after = body.ops[:at], body.ops[at + 1 : -1]
    allowed = (ops.load, ops.store) if loop.opdef is ops.parallel else (ops.load,)
    if any(op.opdef not in SILENT and op.opdef not in allowed for op in before):
        return None
    if any(isinstance(v.type, MemRefType) for op in (*before, *after) for v in op.results):
        return None  # an array of each iteration's own, or a part of one
    if any((op.regions and op.opdef is not ops.if_) or op.opdef is ops.call for op in with_inner(guard)):
        return None
    for taken in (0, 1):
        idle = _Idle(loop, guard, taken, after)
        if len(guard.regions[1 - taken].ops) == 1 and idle.is_idle():
            return Guarded(loop, guard, taken, before, after, idle.stored)
    return None


class _Idle:
    """Whether iterations whose branch does not go to ``taken`` change nothing, but for what they have ``stored``."""

    def __init__(self, loop: Op, guard: Op, taken: int, after: Sequence[Op]) -> None:
        self._loop = loop
        self._guard = guard
        self._taken = taken
        self._after = after
        ends = guard.regions[1 - taken].terminator.operands
        self._instead = dict(zip(guard.results, ends, strict=True))  # what the branch gives then
        self.stored: list[tuple[Op, Value]] = []
        self._zeros = {value for value, end in self._instead.items() if _is_zero(end)}

    def is_idle(self) -> bool:
        for op in self._after:
            if op.opdef is ops.store:
                if not self._stores_what_is_there(op) and not self._stores_something_else(op):
                    return False
            elif op.opdef is ops.accumulate:
                if op.operands[0] not in self._zeros or REVERSE not in self._loop.attrs:
                    return False
            elif op.opdef not in SILENT and op.opdef is not ops.load:
                return False
            elif self._is_zero_then(op):
                self._zeros.add(op.result)
        end = self._loop.regions[0].terminator
        if self._loop.opdef is ops.parallel:
            starts = self._loop.operands[3:]
            return set(end.attrs["kinds"]) <= {"add"} and all(map(self._is_nothing, end.operands, starts))
        carried = self._loop.regions[0].args[1:]
        used = (user for arg in carried for user, _ in arg.uses)
        if not all(user is end or self._is_later(user) for user in used):
            return False
        return all(self._is_kept(v, arg) for v, arg in zip(end.operands, carried, strict=True))

    def _is_later(self, op: Op) -> bool:
        """Whether ``op`` is not before the branch."""
        return any(outer is self._guard or outer in self._after for outer in with_enclosing(op))

    def _is_zero_then(self, op: Op) -> bool:
        kind, values = op.opdef, op.operands
        if kind is ops.select and values[0] is self._guard.operands[0]:
            return _is_zero(values[2 - self._taken])
        if kind in (ops.addf, ops.subf, ops.negf):
            return self._zeros.issuperset(values)
        if kind is ops.mulf:
            return all(v in self._zeros or _is_finite(v) for v in values) and not self._zeros.isdisjoint(values)
        return False

    def _stores_what_is_there(self, store: Op) -> bool:
        """Whether zero is added to an element: then all elements are what they were before the iteration."""
        value, *element = store.operands
        op = value.op
        if op is None or op.opdef not in (ops.addf, ops.subf) or op not in self._after:
            return False
        rest = [k for k, v in enumerate(op.operands) if v not in self._zeros]
        if len(rest) != 1 or not self._adds_nothing(op, 1 - rest[0]):
            return False
        load = op.operands[rest[0]].op
        return load is not None and load.opdef is ops.load and load in self._after and load.operands == tuple(element)

    def _stores_something_else(self, store: Op) -> bool:
        """Whether a value is stored that is known before a parallel loop, at subscripts known before the branch."""
        value = self._instead.get(store.operands[0])
        if self._loop.opdef is not ops.parallel or value is None or inside(value, self._loop):
            return False
        if any(self._is_later(v.op) for v in store.operands[1:] if v.op is not None):
            return False
        self.stored.append((store, value))
        return True

    def _is_kept(self, value: Value, arg: Value) -> bool:
        """Whether ``value`` is ``arg`` in iterations that change nothing."""
        if value is arg or self._instead.get(value) is arg:
            return True
        op = value.op
        if op is None or op.opdef not in (ops.addf, ops.subf) or op not in self._after:
            return False
        return any(self._adds_nothing(op, k) and self._is_kept(op.operands[1 - k], arg) for k in (1, 0))

    def _adds_nothing(self, op: Op, position: int) -> bool:
        """Whether the operand is a zero that changes no bit: -0.0, for sums, as ``-0.0 + 0.0`` is 0.0. Derivatives need
        not keep the sign of a zero."""
        zero = op.operands[position]
        if zero not in self._zeros or (op.opdef is ops.subf and position == 0):
            return False
        return op.attrs.get("fastmath", "none") != "none" or self._is_negative(zero) == (op.opdef is ops.addf)

    def _is_negative(self, zero: Value) -> bool | None:
        """The sign of a zero; None if it is not known."""
        known = constant_of(self._instead.get(zero, zero))
        return None if known is None else copysign(1.0, known) < 0.0

    def _is_nothing(self, term: Value, start: Value) -> bool:
        """Whether zeros may be left out of a sum that begins with ``start``."""
        first = constant_of(start)
        begins = first is not None and copysign(1.0, first) > 0.0
        return term in self._zeros and (begins or self._is_negative(term) is True or REVERSE in self._loop.attrs)


def _is_zero(value: Value) -> bool:
    return value.type.is_float and constant_of(value) == 0


def _is_finite(value: Value) -> bool:
    known = constant_of(value)
    return known is not None and isfinite(known)
